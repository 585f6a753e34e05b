// See tool_process.h.
#include "server-glue/indirect/tool_process.h"

#include "common/base/small_file.h"
#include "common/transport/link.h"
#include "server-glue/indirect/job_tool.h"

#include <cstdlib>
#include <cstring>
#include <sys/inotify.h>
#include <unistd.h>

namespace pmixhost::indirect {

namespace {

// Tells when a file is there, whole: it is given its name when it is (plugins/kit/launcher_file.h).
class AwaitedFile {
  public:
    AwaitedFile(EventLoop &loop, std::string path, std::function<void(const Result<std::string> &)> there)
        : path_(std::move(path)), there_(std::move(there)), notices_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
        std::string directory = path_.substr(0, path_.rfind('/'));
        if (notices_ && ::inotify_add_watch(notices_.get(), directory.c_str(), IN_CREATE | IN_MOVED_TO) >= 0) {
            watch_ = loop.watch(notices_.get(), EventLoop::readable, [this](unsigned) { look(); });
            look();
        } else {
            tell(system_error(directory, errno));
        }
    }

  private:
    void look() {
        char events[4096];
        while (::read(notices_.get(), events, sizeof events) > 0) {
        }
        if (::access(path_.c_str(), F_OK) == 0)
            tell(read_small_file(path_));
    }
    void tell(const Result<std::string> &what) {
        watch_.reset();
        if (auto there = std::exchange(there_, nullptr))
            there(what);
    }

    std::string path_;
    std::function<void(const Result<std::string> &)> there_;
    UniqueFd notices_;
    EventLoop::Handle watch_;
};

class ToolProcess {
  public:
    ToolProcess(EventLoop &loop, UniqueFd channel) : loop_(loop), link_(loop, std::move(channel), {}, callbacks()) {
        link_.set_limit(longest_message);
    }
    Result<void> open() {
        JobTool::Events events;
        events.on_connected = [this](const Result<void> &connected) { reached(connected); };
        events.on_answer = [this](const Answer &answer) { send(answer); };
        events.on_heard = [this](const Heard &event) { send(event); };
        events.on_output = [this](const Output &output) { send(output); };
        events.on_lost = [this] { loop_.stop(); };
        auto tool = JobTool::create(loop_, std::move(events));
        if (!tool)
            return tool.failure();
        tool_ = std::move(*tool);
        return {};
    }

  private:
    template <typename Message> void send(const Message &message) {
        link_.send(Message::type, share(wire::encode(message)));
    }
    Link::Callbacks callbacks() {
        return {[this](std::uint8_t type, const Bytes &payload) { on_message(type, payload); },
                [this](const Error &) { loop_.stop(); }};
    }
    void on_message(std::uint8_t type, const Bytes &payload) {
        auto with = [&]<typename Message>(Message, auto body) {
            if (auto message = wire::decode<Message>(payload))
                body(std::move(*message));
        };
        switch (type) {
        case AwaitJob::type:
            return with(AwaitJob(), [this](const AwaitJob &message) {
                file_.emplace(loop_, message.file, [this](const Result<std::string> &text) { connect(text); });
            });
        case Call::type:
            return with(Call(), [this](Call call) { tool_->call(std::move(call)); });
        case Notify::type:
            return with(Notify(), [this](Notify event) { tool_->notify(std::move(event)); });
        case Listen::type:
            return with(Listen(), [this](const Listen &codes) { tool_->listen(codes); });
        }
    }
    // The first line of a rendezvous file is the server's URI: "NAMESPACE.RANK;ADDRESS".
    void connect(const Result<std::string> &text) {
        if (!text)
            return reached(text.failure());
        tool_->connect(text->substr(0, text->find('\n')));
    }
    void reached(const Result<void> &connected) { send(Reached{connected ? "" : connected.failure().text}); }

    EventLoop &loop_;
    Link link_;
    std::unique_ptr<JobTool> tool_;
    std::optional<AwaitedFile> file_;
};

// By which it would take itself for a process of the debugger's.
void forget_the_debugger() {
    std::vector<std::string> names;
    for (char **variable = environ; *variable; ++variable) {
        std::string name(*variable, std::strcspn(*variable, "="));
        if (name.starts_with("PMIX_") && !name.starts_with("PMIX_MCA_"))
            names.push_back(std::move(name));
    }
    for (const auto &name : names)
        ::unsetenv(name.c_str());
}

} // namespace

int tool_process(UniqueFd channel) {
    forget_the_debugger();
    auto loop = EventLoop::create([](const std::string &) {});
    if (!loop)
        return 1;
    ToolProcess process(**loop, std::move(channel));
    bool ran = process.open().ok() && (*loop)->run().ok();
    ::_exit(ran ? 0 : 1); // libpmix' threads may be calling up
}

} // namespace pmixhost::indirect
