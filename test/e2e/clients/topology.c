/* What PMIx tells of the host: prints PMIX_HWLOC_XML_V2, and "loaded SOURCE" of PMIx_Load_topology.
 * usage: topology */
#include "client.h"

int main(void) {
    begin(60);
    pmix_proc_t job = me.proc;
    job.rank = PMIX_RANK_WILDCARD;
    pmix_value_t *value = NULL;
    me.doing = "PMIx_Get";
    must(PMIx_Get(&job, PMIX_HWLOC_XML_V2, NULL, 0, &value));
    if (value->type != PMIX_STRING)
        fail("the topology is no text");
    puts(value->data.string);
    fflush(stdout);
    PMIX_VALUE_RELEASE(value);
    me.doing = "PMIx_Load_topology";
    pmix_topology_t topology = {NULL, NULL};
    must(PMIx_Load_topology(&topology));
    if (!topology.topology)
        fail("no topology was loaded");
    say("loaded %s", topology.source);
    pass();
}
