// See input_relay.h.
#include "server-glue/indirect/input_relay.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost::indirect {

static constexpr std::size_t read_ahead = 64u << 10;

InputRelay::InputRelay(EventLoop &loop, int from, UniqueFd to) : loop_(loop), from_(from), to_(std::move(to)) {
    if (!to_)
        return;
    ::fcntl(to_.get(), F_SETFL, O_NONBLOCK);
    struct stat what {};
    is_file_ = from_ >= 0 && ::fstat(from_, &what) == 0 && S_ISREG(what.st_mode);
    can_wait_ = from_ >= 0 && ::fstat(from_, &what) == 0 && (S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode));
    watch();
}

InputRelay::Taken InputRelay::push(Bytes bytes, bool last) {
    if (!to_ || last_)
        return Taken::closed;
    if (kept_bytes_ + bytes.size() > most_kept)
        return Taken::full;
    pushed_ = true;
    kept_bytes_ += bytes.size();
    if (!bytes.empty())
        kept_.push_back(std::move(bytes));
    last_ = last;
    write_some();
    return Taken::yes;
}

void InputRelay::no_more_pushes() {
    alone_ = true;
    last_ = last_ || from_ < 0;
    write_some();
}

// What cannot be waited for, a file, is ready at once.
void InputRelay::watch() {
    bool may_read = to_ && from_ >= 0 && !last_ && kept_bytes_ < read_ahead;
    if (!may_read)
        reads_.reset();
    else if (!reads_)
        reads_ = can_wait_ ? loop_.watch(from_, EventLoop::readable, [this](unsigned) { read_some(); })
                           : loop_.after(Duration::zero(), [this] {
                                 reads_.reset();
                                 read_some();
                             });
    if (!to_ || kept_.empty())
        writes_.reset();
    else if (!writes_)
        writes_ = loop_.watch(to_.get(), EventLoop::writable, [this](unsigned) { write_some(); });
}

void InputRelay::read_some() {
    char bytes[16384];
    ssize_t got = ::read(from_, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        // A pipe is libpmix' own way to what it has started, and the input of the debugger that goes there ends so. Who
        // pushes may have more.
        from_ = -1;
        last_ = last_ || alone_ || ((is_file_ || can_wait_) && !pushed_);
    } else {
        kept_.emplace_back(bytes, static_cast<std::size_t>(got));
        kept_bytes_ += static_cast<std::size_t>(got);
    }
    write_some();
}

void InputRelay::write_some() {
    while (to_ && !kept_.empty()) {
        const Bytes &first = kept_.front();
        ssize_t written = ::write(to_.get(), first.data() + written_of_first_, first.size() - written_of_first_);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            if (errno != EAGAIN)
                close(); // nobody reads
            break;
        }
        kept_bytes_ -= static_cast<std::size_t>(written);
        written_of_first_ += static_cast<std::size_t>(written);
        if (written_of_first_ == first.size()) {
            kept_.pop_front();
            written_of_first_ = 0;
        }
    }
    if (last_ && kept_.empty())
        close();
    watch();
}

void InputRelay::close() {
    writes_.reset(); // before what it watches
    to_.reset();
    kept_.clear();
    kept_bytes_ = 0;
}

} // namespace pmixhost::indirect
