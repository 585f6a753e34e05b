/* Files and directories that are to be removed when a process or its job has ended (PMIX_REGISTER_CLEANUP
 * and its kin). Rank 0 asks for it and ends; the last rank looks what is there then, and ends the job.
 * usage: cleanup TARGET END STATUS WATCHED DIRECTIVE ...
 *        TARGET     self, job (a wildcard), or null (no targets): whose end is meant
 *        END        of rank 0: exit (after PMIx_Finalize), or kill (by itself, without)
 *        STATUS     what PMIx_Job_control is to give: ok, conflict or refused
 *        WATCHED    a file: gone before the job ends with "self", there until then with the others;
 *                   - : none
 *        DIRECTIVE  file=PATHS, dir=PATHS, ignore=PATHS, recursive, leave, empty */
#include "client.h"

static const struct {
    const char *word, *key;
} words[] = {{"file=", PMIX_REGISTER_CLEANUP},     {"dir=", PMIX_REGISTER_CLEANUP_DIR},
             {"ignore=", PMIX_CLEANUP_IGNORE},     {"recursive", PMIX_CLEANUP_RECURSIVE},
             {"leave", PMIX_CLEANUP_LEAVE_TOPDIR}, {"empty", PMIX_CLEANUP_EMPTY}};

static void ask(const char *whose, const char *wanted, char **argv, int n) {
    pmix_info_t info[16], *results = NULL;
    size_t count = 0, nresults = 0;
    for (int i = 0; i < n && count < 16; i++)
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            size_t length = strlen(words[w].word);
            if (strncmp(argv[i], words[w].word, length))
                continue;
            bool text = words[w].word[length - 1] == '=';
            PMIX_INFO_LOAD(&info[count], words[w].key, text ? argv[i] + length : NULL, text ? PMIX_STRING : PMIX_BOOL);
            count++;
        }
    pmix_proc_t target = me.proc;
    if (strcmp(whose, "self"))
        target.rank = PMIX_RANK_WILDCARD;
    bool none = !strcmp(whose, "null");
    me.doing = "PMIx_Job_control";
    pmix_status_t rc = PMIx_Job_control(none ? NULL : &target, none ? 0 : 1, info, count, &results, &nresults);
    bool good = rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED;
    if (!strcmp(wanted, "ok")         ? !good
        : !strcmp(wanted, "conflict") ? rc != PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES
                                      : rc != PMIX_ERR_NOT_SUPPORTED)
        fail("PMIx_Job_control: %s, not %s", status_name(rc), wanted);
}

int main(int argc, char **argv) {
    begin(60);
    need(2);
    if (argc < 5)
        fail("usage: cleanup TARGET END STATUS WATCHED DIRECTIVE ...");
    const char *whose = argv[1], *watched = argv[4];
    if (me.rank == 0) {
        show_life();
        ask(whose, argv[3], argv + 5, argc - 5);
        fence();
        if (!strcmp(argv[2], "kill"))
            kill(getpid(), SIGKILL);
        pass();
    }
    fence();
    if (me.rank == me.size - 1 && strcmp(watched, "-")) {
        wait_for_death();
        me.doing = "waiting for the file to go";
        while (!strcmp(whose, "self") && !access(watched, F_OK))
            rest();
        if (strcmp(whose, "self") && access(watched, F_OK))
            fail("%s has gone before the job ended", watched);
    }
    pass();
}
