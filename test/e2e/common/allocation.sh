#!/bin/bash
# PMIx_Allocation_request without a resource manager that could grant anything.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

client 2 1 allocate new nodes=1 extend time=60 release list=n1
ok "without a resource manager nothing is allocated" \
    eval 'all_ok 2 && (($(grep -c "^[a-z]* PMIX_ERR_NOT_SUPPORTED" <<<"$output") == 3))'
done_testing
