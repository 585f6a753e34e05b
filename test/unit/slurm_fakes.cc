// See slurm_fakes.h.
#include "test/unit/slurm_fakes.h"

extern "C" {

void slurm_unsetenvp(char **array, const char *name) {
    std::string start = std::string(name) + "=";
    char **to = array;
    for (char **from = array; *from; ++from) {
        if (std::string_view(*from).starts_with(start))
            std::free(*from);
        else
            *to++ = *from;
    }
    *to = nullptr;
}

// Keeps to Slurm's limit on one entry.
int slurm_env_array_overwrite(char ***array, const char *name, const char *value) {
    if (std::strlen(value) >= 128 << 10)
        return 0;
    slurm_unsetenvp(*array, name);
    std::size_t count = 0;
    while ((*array)[count])
        ++count;
    *array = static_cast<char **>(std::realloc(*array, (count + 2) * sizeof **array));
    (*array)[count] = strdup((std::string(name) + "=" + value).c_str());
    (*array)[count + 1] = nullptr;
    return 1;
}
}
