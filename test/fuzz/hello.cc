// The first bytes that anybody who connects to the PMIx server writes.
#include "server-glue/guard/hello.h"

#include "test/fuzz/fuzz.h"
#include "test/unit/hello.h"

using namespace pmixhost;

int fuzz_rounds() {
    return 200'000;
}

std::vector<std::string> fuzz_seeds() {
    std::vector<std::string> seeds;
    for (int kind = 0; kind <= 10; ++kind) {
        test::HelloText text;
        text.kind = static_cast<std::uint8_t>(kind);
        text.blob = test::stated_count(kind) + std::string(kind, 'b');
        seeds.push_back(text.message());
    }
    test::HelloText old;
    old.version = "2.0.1";
    old.after = "";
    seeds.push_back(old.message());
    return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    std::string_view message(reinterpret_cast<const char *>(data), size);
    auto whole = hello_size(message);
    fuzz_expect(!whole || (*whole >= hello_header_size && *whole <= max_hello));
    auto hello = parse_hello(message);
    if (!hello) {
        fuzz_expect(!hello.failure().text.empty());
        return 0;
    }
    fuzz_expect(whole.ok() && *whole == size);
    fuzz_expect(hello->psec.size() + hello->credential.size() + hello->nspace.size() + hello->version.size() < size);
    auto found = parse_hello(with_native_identity(message, 1000, 100));
    fuzz_expect(found.ok() && found->psec == "native" && found->credential == test::native_credential(1000, 100) &&
                found->kind == hello->kind && found->nspace == hello->nspace && found->uid == hello->uid &&
                found->version == hello->version && found->gds == hello->gds);
    const uid_t peer = 1000;
    for (bool registered : {false, true}) {
        auto verdict =
            admissible(*hello, peer, registered ? std::optional(ProcessOwner{peer, 100}) : std::nullopt, registered);
        if (!verdict)
            continue;
        // Nobody is let in under another uid than the kernel's, nor as a process that is none.
        fuzz_expect(!hello->uid || *hello->uid == peer);
        if (hello->psec == "native")
            fuzz_expect(hello->credential.starts_with(test::native_order(peer)));
        else
            fuzz_expect(hello->kind != HelloKind::client && hello->psec == "munge");
        fuzz_expect(registered == (hello->kind == HelloKind::client || hello->kind == HelloKind::tool_of_server ||
                                   hello->kind == HelloKind::launcher_of_server));
    }
    return 0;
}
