// Stands in for Slurm's environment arrays, as far as the shim uses them, with malloc instead of Slurm's memory.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

struct FakeEnvironment {
    char **array = nullptr;
    FakeEnvironment() : array(static_cast<char **>(std::calloc(1, sizeof *array))) {}
    FakeEnvironment(const FakeEnvironment &) = delete;
    ~FakeEnvironment() {
        for (char **entry = array; *entry; ++entry)
            std::free(*entry);
        std::free(array);
    }
    void add(const std::string &entry) {
        std::size_t count = 0;
        while (array[count])
            ++count;
        array = static_cast<char **>(std::realloc(array, (count + 2) * sizeof *array));
        array[count] = strdup(entry.c_str());
        array[count + 1] = nullptr;
    }
    // "(none)" when it is not there.
    std::string get(std::string_view name) const {
        for (char **entry = array; *entry; ++entry) {
            std::string_view text = *entry;
            if (text.starts_with(name) && text.substr(name.size()).starts_with("="))
                return std::string(text.substr(name.size() + 1));
        }
        return "(none)";
    }
};

extern "C" {
__attribute__((visibility("default"))) int slurm_env_array_overwrite(char ***array, const char *name,
                                                                     const char *value);
__attribute__((visibility("default"))) void slurm_unsetenvp(char **array, const char *name);
}
