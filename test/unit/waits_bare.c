/* A program without symbols that waits in one of two functions, as its name says: a debugger has to tell them apart
   (test/unit/read_stacks.cc). Says when it waits. */
#include <string.h>
#include <unistd.h>

static volatile int turns;

static void __attribute__((noinline)) waits_in_one(void) {
    if (write(STDOUT_FILENO, ".", 1) == 1) {
        for (;;)
            pause();
    }
    turns++;
}

static void __attribute__((noinline)) waits_in_two(void) {
    if (write(STDOUT_FILENO, ".", 1) == 1) {
        for (;;)
            pause();
    }
    turns--;
}

int main(int argc, char **argv) {
    (void)argc;
    if (!strcmp(argv[0], "two"))
        waits_in_two();
    else
        waits_in_one();
    return turns;
}
