/* Start and end: PMIx_Init, who am I and where, PMIx_Finalize. */
#include "client.h"

int main(void) {
    begin(30);
    pmix_value_t *host = NULL;
    char name[256] = "?";
    gethostname(name, sizeof(name) - 1);
    if (get(me.rank, PMIX_HOSTNAME, &host))
        snprintf(name, sizeof(name), "%s", host->data.string);
    say("rank %u of %u on %s", me.rank, me.size, name);
    pass();
}
