// See backtrace.h.
#include "server-glue/evidence/backtrace.h"

#include "common/base/small_file.h"
#include "config.h"
#include "server-glue/evidence/memory_map.h"
#include "server-glue/evidence/stopped_thread.h"
#include "server-glue/evidence/thread_snapshot.h"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef PMIXHOST_HAVE_LIBDW
#include <elfutils/libdwfl.h>
#endif

namespace pmixhost {

namespace {

#ifdef PMIXHOST_HAVE_LIBDW

using namespace std::chrono_literals;

constexpr auto patience_with_a_thread = 500ms;

// The name as C++ has it, cut short where it is very long.
std::string readable(std::string name) {
    name = name.substr(0, name.find('@')); // a version of the C library
    int status = -1;
    std::unique_ptr<char, void (*)(void *)> demangled(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                      std::free);
    std::string text = status == 0 && demangled ? demangled.get() : std::move(name);
    constexpr std::size_t max = 160;
    if (text.size() > max)
        text = text.substr(0, max) + "...";
    return text;
}

std::string last_part(std::string_view path) {
    return std::string(path.substr(path.rfind('/') + 1));
}

class DwarfBacktracer final : public Backtracer {
  public:
    static Result<std::unique_ptr<Backtracer>> create(pid_t pid) {
        // libdw would ask servers on the network for what is not on this host.
        ::unsetenv("DEBUGINFOD_URLS");
        static constexpr Dwfl_Callbacks callbacks = {dwfl_linux_proc_find_elf, dwfl_standard_find_debuginfo, nullptr,
                                                     nullptr};
        std::unique_ptr<DwarfBacktracer> made(new DwarfBacktracer(dwfl_begin(&callbacks)));
        if (!made->dwfl_)
            return failure("dwfl_begin");
        if (dwfl_linux_proc_report(made->dwfl_, pid) != 0)
            return failure("its memory map cannot be read");
        if (dwfl_report_end(made->dwfl_, nullptr, nullptr) != 0)
            return failure("its memory map makes no sense");
        // Threads are stopped by StoppedThread: libdw itself would wait for them without a bound.
        if (dwfl_linux_proc_attach(made->dwfl_, pid, true) != 0)
            return failure("libdw cannot read it");
        return std::unique_ptr<Backtracer>(std::move(made));
    }
    ~DwarfBacktracer() override {
        if (dwfl_)
            dwfl_end(dwfl_);
    }

    Result<std::vector<Frame>> frames(pid_t thread) override {
        std::vector<Frame> out;
        {
            auto stopped = StoppedThread::stop(thread, patience_with_a_thread);
            if (!stopped)
                return stopped.failure();
            addresses_.clear();
            dwfl_getthread_frames(dwfl_, thread, take_frame, this);
        }
        // Names are looked up when it goes on again.
        for (Dwarf_Addr address : addresses_)
            out.push_back(frame(address));
        if (out.empty())
            return failure("libdw found no calls");
        return out;
    }

    std::vector<std::string> files() const override {
        std::vector<std::string> lines;
        dwfl_getmodules(dwfl_, take_module, &lines, 0);
        return lines;
    }

    std::string_view method() const override { return "innermost first"; }

  private:
    explicit DwarfBacktracer(Dwfl *dwfl) : dwfl_(dwfl) {}

    static Error failure(std::string_view what) {
        const char *why = dwfl_errmsg(-1);
        return error(ErrorKind::system, "{}: {}", what, why ? why : "unknown");
    }

    static int take_frame(Dwfl_Frame *state, void *self) {
        auto &addresses = static_cast<DwarfBacktracer *>(self)->addresses_;
        Dwarf_Addr address = 0;
        bool exact = false;
        if (!dwfl_frame_pc(state, &address, &exact))
            return DWARF_CB_ABORT;
        addresses.push_back(exact ? address : address - 1); // else it is where the call returns to
        return addresses.size() < max_frames ? DWARF_CB_OK : DWARF_CB_ABORT;
    }

    Frame frame(Dwarf_Addr address) const {
        Frame out;
        Dwfl_Module *module = dwfl_addrmodule(dwfl_, address);
        if (!module) {
            out.where = fmt::format("{:#x}", address);
            return out;
        }
        Dwarf_Addr begin = 0;
        const char *name = dwfl_module_info(module, nullptr, &begin, nullptr, nullptr, nullptr, nullptr, nullptr);
        out.where = fmt::format("{}+{:#x}", last_part(name ? name : "?"), address - begin);
        GElf_Off offset = 0;
        GElf_Sym symbol;
        if (const char *function = dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr))
            out.function = readable(function);
        if (Dwfl_Line *line = dwfl_module_getsrc(module, address)) {
            int number = 0;
            if (const char *file = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr))
                out.source = fmt::format("{}:{}", last_part(file), number);
        }
        return out;
    }

    static int take_module(Dwfl_Module *module, void **, const char *name, Dwarf_Addr begin, void *lines) {
        const unsigned char *id = nullptr;
        GElf_Addr at = 0;
        dwfl_module_getelf(module, &at); // or only those that a call was found in would be known
        int size = dwfl_module_build_id(module, &id, &at);
        std::string_view file = name;
        if (!id && file.find(".so") == file.npos)
            return DWARF_CB_OK; // data
        std::string text;
        for (int i = 0; id && i < size && i < 64; ++i)
            text += fmt::format("{:02x}", id[i]);
        static_cast<std::vector<std::string> *>(lines)->push_back(
            fmt::format("{:#x} {} {}", begin, file, text.empty() ? "without build ID" : "build ID " + text));
        return DWARF_CB_OK;
    }

    Dwfl *dwfl_;
    std::vector<Dwarf_Addr> addresses_;
};

#endif

// For builds without libdw: lists what looks like a return address on the stack. Some of them are left over from
// calls that have ended; whoever knows the code can tell them apart by their files.
class StackScanner final : public Backtracer {
  public:
    StackScanner(pid_t pid, std::string_view maps) : pid_(pid), map_(maps) {}

    Result<std::vector<Frame>> frames(pid_t thread) override {
        auto text = read_small_file(fmt::format("/proc/{}/task/{}/syscall", pid_, thread));
        if (!text)
            return text.failure();
        auto call = parse_thread_call(*text);
        if (!call)
            return call.failure();
        if (call->stack_pointer == 0)
            return error(ErrorKind::unsupported, "it runs; pmixhost was built without libdw, which could tell where");
        std::vector<Frame> out{{map_.place(call->program_counter), {}, {}}};
        std::vector<std::uint64_t> words(2048);
        iovec to{words.data(), words.size() * sizeof words[0]};
        // The stack may end sooner: page by page, as far as it goes.
        constexpr std::size_t page = 4096;
        std::vector<iovec> from;
        std::uint64_t at = call->stack_pointer & ~std::uint64_t{7};
        for (std::uint64_t end = at + to.iov_len; at < end;) {
            std::uint64_t next = std::min((at / page + 1) * page, end);
            from.push_back({reinterpret_cast<void *>(at), next - at});
            at = next;
        }
        ssize_t n = ::process_vm_readv(pid_, &to, 1, from.data(), from.size(), 0);
        for (ssize_t i = 0; i < n / 8 && out.size() < max_frames; ++i) {
            if (auto word = words[static_cast<std::size_t>(i)]; map_.executable(word))
                out.push_back({map_.place(word), {}, {}});
        }
        return out;
    }
    std::vector<std::string> files() const override { return {}; }
    std::string_view method() const override {
        return "pmixhost was built without libdw: where it stands, then what on its stack looks like a "
               "return address; some are left over from calls that have ended";
    }

  private:
    pid_t pid_;
    MemoryMap map_;
};

} // namespace

std::string brief_name(std::string_view function) {
    std::string out;
    int depth = 0; // in arguments of templates and of functions
    for (constexpr std::string_view unnamed = "(anonymous namespace)::"; !function.empty();) {
        if (function.starts_with(unnamed)) {
            function.remove_prefix(unnamed.size());
            continue;
        }
        char c = function.front();
        function.remove_prefix(1);
        if (c == '<' || c == '(')
            ++depth;
        else if (c == '>' || c == ')')
            depth -= depth > 0;
        else if (depth == 0)
            out += c;
    }
    if (out.ends_with(" const"))
        out.resize(out.size() - std::string_view(" const").size());
    return out.substr(out.rfind(' ') + 1); // without what it returns
}

Result<std::unique_ptr<Backtracer>> Backtracer::of_process(pid_t pid) {
#ifdef PMIXHOST_HAVE_LIBDW
    return DwarfBacktracer::create(pid);
#else
    return scan_stacks(pid);
#endif
}

Result<std::unique_ptr<Backtracer>> Backtracer::scan_stacks(pid_t pid) {
    auto maps = read_small_file(fmt::format("/proc/{}/maps", pid));
    if (!maps)
        return maps.failure();
    return std::unique_ptr<Backtracer>(std::make_unique<StackScanner>(pid, *maps));
}

} // namespace pmixhost
