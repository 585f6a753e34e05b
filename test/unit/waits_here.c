/* Two programs of this, without a build-id: a debugger that looks at one after the other has to tell them apart
   (test/unit/read_stacks.cc). Says when it waits. */
#include <unistd.h>

void WAITS_IN(void);

void WAITS_IN(void) {
    if (write(STDOUT_FILENO, ".", 1) == 1) {
        for (;;)
            pause();
    }
}

int main(void) {
    WAITS_IN();
    return 0;
}
