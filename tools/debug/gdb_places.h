// Which numbers in gdb's words say nothing of a program: where the kernel has put its code and its stacks (each process
// has them elsewhere), how the kernel counts its processes and threads, and how gdb counts its values. What ranks do is
// the same where only these differ. Pure.
#pragma once

#include <string>
#include <string_view>

namespace pmixhost {

// `text`: what gdb has said for people, in lines. Returned with ".." in the place of these numbers:
// - addresses and numbers of processes and threads in lines that say where something is: calls of a stack with the
//   pointers that they were given, stops, threads, processes, breakpoints, loaded libraries;
// - of a call that has no name all but the last three digits of its address, which is all that is known of it: files
//   are put into memory by pages;
// - addresses that have a symbol's name behind them, in lines that show an instruction;
// - N of "$N = ";
// and with one blank between the columns of `info threads` and `info inferiors`, which are as wide as such numbers.
// All else is data and stays, as do numbers below 0x100000 and what is in double quotes: values, memory, registers,
// variables, and what gdb says that it cannot read.
std::string without_places(std::string_view text);

} // namespace pmixhost
