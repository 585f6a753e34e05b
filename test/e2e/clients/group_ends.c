/* What becomes of groups when members end.
 *
 *   group_ends die HOW WHEN [FLAG]
 *        the last rank ends (kill, segv, exit) before it would join, or, `inside`, while the others
 *        already wait; or all but one wait and the one is killed after it has joined (`after`).
 *        FLAG plain: an error for all; optional, ft, notify: the others build the group without it
 *   group_ends lost HOST FLAG
 *        the ranks on HOST never join; all others are in the construct, say "there" and hear of its end
 *        when that host is lost: FLAG as above, or first (optional, but that host is the group's first,
 *        without which there is no group)
 *   group_ends called
 *        the group of the even ranks by its name in PMIx_Job_control (a signal) and one member of it in
 *        PMIx_Abort
 *   group_ends shrink
 *        a member ends after the group was built with PMIX_GROUP_NOTIFY_TERMINATION: the others hear of it,
 *        and can destruct the group without it
 */
#include "events.h"
#include "groups.h"

/* --- what the host tells the members -------------------------------------------------------------*/

static struct {
    unsigned updates, failures, deaths;
    size_t members;
    pmix_proc_t failed;
    char group[PMIX_MAX_NSLEN + 1];
} told;

static void note(const struct event *event) {
    const pmix_value_t *group = carried(event, PMIX_GROUP_ID, PMIX_STRING),
                       *affected = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC),
                       *members = carried(event, PMIX_GROUP_MEMBERSHIP, PMIX_DATA_ARRAY);
    if (group)
        snprintf(told.group, sizeof(told.group), "%s", group->data.string);
    if (affected)
        told.failed = *affected->data.proc;
    if (members)
        told.members = members->data.darray->size;
    if (event->code == PMIX_ERR_PROC_ABORTED)
        told.deaths++;
    else if (event->code == PMIX_GROUP_MEMBER_FAILED)
        told.failures++;
    else
        told.updates++;
}
EVENT_HANDLER(on_event, note, PMIX_EVENT_ACTION_COMPLETE)

static void listen_for_members(void) {
    pmix_status_t codes[] = {PMIX_GROUP_MEMBERSHIP_UPDATE, PMIX_GROUP_MEMBER_FAILED, PMIX_ERR_PROC_ABORTED};
    register_nb(codes, 3, on_event);
}

/* A construct has ended: with an error for all, or the others have the group. */
static void check_outcome(const char *group, bool error, pmix_status_t rc, size_t left) {
    bool is_refused = rc == PMIX_ERR_NOT_SUPPORTED || rc == PMIX_ERR_BAD_PARAM || rc == PMIX_ERR_NO_PERMISSIONS;
    if (error && (rc == PMIX_SUCCESS || rc == PMIX_ERR_PARTIAL_SUCCESS || is_refused))
        fail("%s", status_name(rc));
    if (error)
        return;
    /* Newer clients are told the members with PMIX_SUCCESS only. */
    if (rc != PMIX_ERR_PARTIAL_SUCCESS && (rc != PMIX_SUCCESS || PMIX_NUMERIC_VERSION < 0x00040204))
        fail("%s", status_name(rc));
    wait_for_count(&told.updates, 1, "PMIX_GROUP_MEMBERSHIP_UPDATE");
    if (told.members != left || strcmp(told.group, group))
        fail("told of %zu members of %s", told.members, told.group);
    destruct(group);
}

/* Ends without PMIx_Finalize, which is not tested here: a member has ended without it. */
static void pass_as_it_is(void) __attribute__((noreturn));
static void pass_as_it_is(void) {
    say("ok %d", (int)me.rank);
    _exit(0);
}

/* --- the ends ------------------------------------------------------------------------------------*/

static int flags_of(const char *flag) {
    return !strcmp(flag, "plain")      ? CONTEXT
           : !strcmp(flag, "optional") ? OPTIONAL | CONTEXT
           : !strcmp(flag, "first")    ? OPTIONAL | CONTEXT
           : !strcmp(flag, "ft")       ? TOLERANT | CONTEXT
                                       : NOTIFY | CONTEXT;
}

/* The mark that others wait for is let go once the construct has been called. */
static pmix_status_t construct_marked(const char *name, const pmix_proc_t *procs, size_t n, int flags, int entering) {
    pmix_info_t info[MAX_DIRECTIVES];
    struct answer built;
    answer_init(&built);
    size_t count = directives(flags, info);
    pmix_status_t rc = PMIx_Group_construct_nb(name, procs, n, info, count, answer_info, &built);
    close(entering);
    return rc == PMIX_SUCCESS ? answer_wait(&built, "PMIx_Group_construct_nb") : rc;
}

static void die(const char *how, const char *when, const char *flag) {
    need(3);
    size_t n;
    uint32_t victim = me.size - 1;
    pmix_proc_t *procs = list_of(0, 1, &n);
    bool after = !strcmp(when, "after");
    listen_for_members();
    if (me.rank == victim)
        show_life();
    int entering = me.rank != victim && !after ? mark("entering", me.rank) : -1;
    fence();
    if (me.rank == victim) {
        struct answer built;
        pmix_info_t info;
        answer_init(&built);
        PMIX_INFO_LOAD(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID, NULL, PMIX_BOOL);
        for (uint32_t r = 0; r < victim && !strcmp(when, "inside"); r++)
            wait_for_mark("entering", r);
        if (after)
            must(PMIx_Group_construct_nb("test-die", procs, n, &info, 1, answer_info, &built));
        end_by(how);
    }
    if (!strcmp(when, "before"))
        wait_for_death();
    if (after) /* its server knows it, too, and says so where the group meets */
        wait_for_count(&told.deaths, 1, "PMIX_ERR_PROC_ABORTED");
    pmix_status_t rc = after ? construct("test-die", procs, n, flags_of(flag), 0, NULL)
                             : construct_marked("test-die", procs, n, flags_of(flag), entering);
    check_outcome("test-die", !strcmp(flag, "plain"), rc, me.size - 1);
    say("construct %s: %s", flag, status_name(rc));
    pass_as_it_is();
}

static void lost(const char *host, const char *flag) {
    size_t n, left = 0;
    pmix_proc_t *procs = list_of(0, 1, &n), *those = calloc(me.size, sizeof(*those));
    listen_for_members();
    fence();
    for (uint32_t r = 0; r < me.size; r++)
        if (!is_on_host(r, host))
            those[left++] = process(me.proc.nspace, r);
    if (is_on_host(me.rank, host)) {
        say("there %u", me.rank);
        for (;;)
            pause();
    }
    pmix_info_t info[MAX_DIRECTIVES];
    size_t ninfo = directives(flags_of(flag), info);
    struct answer built;
    answer_init(&built);
    pmix_status_t rc = PMIx_Group_construct_nb("test-lost", procs, n, info, ninfo, answer_info, &built);
    if (rc != PMIX_SUCCESS)
        fail("PMIx_Group_construct_nb: %s", status_name(rc));
    say("there %u", me.rank);
    rc = answer_wait(&built, "PMIx_Group_construct_nb");
    say("construct %s: %s", flag, status_name(rc));
    check_outcome("test-lost", !strcmp(flag, "plain") || !strcmp(flag, "first"), rc, left);
    must(fence_with(those, left, 0, 60));
    pass_as_it_is();
}

static volatile sig_atomic_t signals;
static void on_signal(int number) {
    (void)number;
    signals++;
}

static void called(void) {
    need(4);
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t block, before;
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    size_t n, left;
    pmix_proc_t *even = list_of(0, 2, &n), target;
    uint32_t victim = even[1].rank; /* group rank 1 */
    pmix_proc_t *those = all_but(victim, &left);
    bool member = me.rank % 2 == 0;
    if (me.rank == victim)
        show_life();
    if (member)
        build("test-called", even, n, CONTEXT, NULL);
    fence();
    if (me.rank == 0) {
        pmix_info_t info;
        int number = SIGUSR1;
        PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
        target = process("test-called", PMIX_RANK_WILDCARD);
        me.doing = "PMIx_Job_control";
        pmix_status_t rc = PMIx_Job_control(&target, 1, &info, 1, NULL, NULL);
        if (rc != PMIX_SUCCESS)
            fail("PMIx_Job_control: %s", status_name(rc));
    }
    me.doing = "waiting for the signal";
    pthread_sigmask(SIG_BLOCK, &block, &before);
    while (member && signals == 0)
        sigsuspend(&before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    fence();
    if (signals != member)
        fail("%d signals came", (int)signals);
    if (me.rank == victim)
        for (;;)
            pause();
    if (me.rank == 0) {
        target = process("test-called", 1);
        me.doing = "PMIx_Abort";
        pmix_status_t rc = PMIx_Abort(7, "only one", &target, 1);
        if (rc != PMIX_SUCCESS)
            fail("PMIx_Abort: %s", status_name(rc));
    }
    wait_for_death();
    must(fence_with(those, left, 0, 60));
    pass_as_it_is();
}

static void shrink(void) {
    need(3);
    size_t n, id;
    uint32_t victim = me.size - 1;
    pmix_proc_t *procs = list_of(0, 1, &n);
    listen_for_members();
    build("test-shrink", procs, n, NOTIFY | CONTEXT, &id);
    if (me.rank == victim)
        raise(SIGKILL);
    wait_for_count(&told.failures, 1, "PMIX_GROUP_MEMBER_FAILED");
    if (told.failed.rank != victim || strcmp(told.group, "test-shrink"))
        fail("told of the end of %u in %s", told.failed.rank, told.group);
    destruct("test-shrink");
    pass_as_it_is();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "shrink";
    begin(!strcmp(what, "lost") ? 280 : 90);
    if (!strcmp(what, "die") && argc > 3)
        die(argv[2], argv[3], argc > 4 ? argv[4] : "plain");
    else if (!strcmp(what, "lost") && argc > 3)
        lost(argv[2], argv[3]);
    else if (!strcmp(what, "called"))
        called();
    else if (!strcmp(what, "shrink"))
        shrink();
    else
        fail("what is '%s'?", what);
}
