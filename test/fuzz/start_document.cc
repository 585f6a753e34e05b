// The start document: the shim passes on what the user's environment said.
#include "common/start/start_document.h"
#include "test/fuzz/fuzz.h"

using namespace pmixhost;

int fuzz_rounds() {
    return 50'000;
}

std::vector<std::string> fuzz_seeds() {
    StartDocument document;
    for (auto [key, value] : {std::pair("backend", "slurm"),
                              {"host", "n1"},
                              {"env", "PMIXHOST_X=1"},
                              {"env", "PMIXHOST_Y="},
                              {"slurm.job_id", "12"}})
        (void)document.add(key, value);
    return {document.encode(), "", "a b\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char *>(data), size);
    auto document = StartDocument::decode(text);
    if (!document)
        return 0;
    (void)document->number("slurm.job_id", UINT32_MAX);
    (void)document->all("env");
    auto again = StartDocument::decode(document->encode());
    fuzz_expect(again && again->encode() == document->encode());
    return 0;
}
