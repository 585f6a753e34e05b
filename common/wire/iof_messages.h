// What the processes of a job write and read, on its way between hosts (server-glue/iof/).
#pragma once

#include "common/wire/codec.h"
#include "common/wire/relayed.h"

namespace pmixhost::wire {

// Standard streams, as bits: those of pmix_iof_channel_t.
inline constexpr std::uint8_t stdin_channel = 1, stdout_channel = 2, stderr_channel = 4;
// A link holds at most so many bytes of output, with `output_overhead` for each piece, that have not been taken.
inline constexpr std::uint32_t output_window = 256u << 10, output_overhead = 64;

struct OutputWanted {
    static constexpr const char *name = "OutputWanted";
    std::uint8_t channels = 0;
    std::vector<std::uint32_t> of_stdout;
    std::vector<std::uint32_t> of_stderr;
    static constexpr void fields(auto &&field) {
        field(&OutputWanted::channels, "channels", "2 stdout, 4 stderr; 0: nothing");
        field(&OutputWanted::of_stdout, "of_stdout", "ranks whose stdout it is; none: of all");
        field(&OutputWanted::of_stderr, "of_stderr", "likewise");
    }
};
struct OutputDemand {
    static constexpr std::uint8_t type = 198;
    static constexpr const char *name = "OutputDemand";
    static constexpr const char *text = "tools on a host want the output of processes of this host and of those behind";
    std::uint32_t root = 0;
    std::uint64_t serial = 0;
    std::uint32_t behind = 0;
    OutputWanted pulled;
    OutputWanted taken_over;
    std::uint64_t cache = 0;
    std::uint8_t drop_oldest = 0;
    std::uint8_t kept = 0;
    OutputWanted kept_but;
    std::uint64_t kept_for = 0;
    std::uint8_t whole = 0;
    std::uint32_t held = 0;
    std::uint64_t held_for = 0;
    static constexpr void fields(auto &&field) {
        field(&OutputDemand::root, "root", "the host of the tools");
        field(&OutputDemand::serial, "serial", "counted by root: a new one when nothing was wanted before");
        field(&OutputDemand::behind, "behind", "the neighbour in the tree that is not to be asked");
        field(&OutputDemand::pulled, "pulled", "what; of no channel: nothing any more");
        field(&OutputDemand::taken_over, "taken_over", "of that, what goes nowhere else");
        field(&OutputDemand::cache, "cache", "bytes that each host may hold back for tools that are slow");
        field(&OutputDemand::drop_oldest, "drop_oldest", "1: what does not fit is made room for, 0: it is dropped");
        field(&OutputDemand::kept, "kept", "1: with what was written lately, before anybody asked");
        field(&OutputDemand::kept_but, "kept_but",
              "but of these, of which root has had it, only whether they have ended");
        field(&OutputDemand::kept_for, "kept_for",
              "of that, what was written in the last so many milliseconds; 2^64-1: all");
        field(&OutputDemand::whole, "whole", "1: nothing is dropped; the processes wait instead");
        field(&OutputDemand::held, "held", "a stream is held until it has so many bytes; 0: nothing is");
        field(&OutputDemand::held_for, "held_for", "or so many milliseconds");
    }
};
struct OutputPiece {
    static constexpr const char *name = "OutputPiece";
    std::uint32_t rank = 0;
    std::uint8_t channel = 0;
    std::uint8_t end = 0;
    std::uint64_t dropped = 0;
    Bytes bytes;
    std::uint8_t failed = 0;
    std::uint64_t number = 0;
    std::uint8_t cut = 0;
    static constexpr void fields(auto &&field) {
        field(&OutputPiece::rank, "rank", "who wrote it");
        field(&OutputPiece::channel, "channel", "one of 2 stdout, 4 stderr");
        field(&OutputPiece::end, "end", "1: nothing follows");
        field(&OutputPiece::dropped, "dropped", "bytes that were left out before these");
        field(&OutputPiece::bytes, "bytes", "as they were written");
        field(&OutputPiece::failed, "failed", "1: what follows cannot be had, but for the end");
        field(&OutputPiece::number, "number",
              "counted from 1 for each stream by the writer's host: what has come already is not taken again");
        field(&OutputPiece::cut, "cut", "1: of what was written lately it is the end; what was before is kept no more");
    }
};
struct OutputPieces {
    static constexpr std::uint8_t type = 199;
    static constexpr const char *name = "OutputPieces";
    static constexpr const char *text = "output, on its way to the host of the tools that want it";
    std::uint32_t root = 0;
    std::uint64_t serial = 0;
    std::vector<OutputPiece> pieces;
    static constexpr void fields(auto &&field) {
        field(&OutputPieces::root, "root", "the host of the tools");
        field(&OutputPieces::serial, "serial", "of its OutputDemand");
        field(&OutputPieces::pieces, "pieces", "in order for each stream");
    }
};
struct OutputTaken {
    static constexpr std::uint8_t type = 200;
    static constexpr const char *name = "OutputTaken";
    static constexpr const char *text =
        "so much of the output has been given to the tools' library: as much more may come";
    std::uint32_t root = 0;
    std::uint64_t serial = 0;
    std::uint32_t count = 0;
    static constexpr void fields(auto &&field) {
        field(&OutputTaken::root, "root", "the host of the tools");
        field(&OutputTaken::serial, "serial", "of its OutputDemand");
        field(&OutputTaken::count, "count", "bytes, with 64 for each piece");
    }
};
struct InputPush {
    static constexpr std::uint8_t type = 201;
    static constexpr const char *name = "InputPush";
    static constexpr const char *text = "for the standard input of processes of this host and of those behind it";
    std::uint64_t id = 0;
    std::uint32_t root = 0;
    std::uint64_t serial = 0;
    std::uint32_t behind = 0;
    std::uint8_t end = 0;
    std::vector<std::uint32_t> ranks;
    Bytes bytes;
    static constexpr void fields(auto &&field) {
        field(&InputPush::id, "id", "chosen by the asking daemon");
        field(&InputPush::root, "root", "the host of the tool");
        field(&InputPush::serial, "serial", "counted by root: what has come already is not given again");
        field(&InputPush::behind, "behind", "the neighbour in the tree that is not to be told");
        field(&InputPush::end, "end", "1: nothing follows; the streams are closed");
        field(&InputPush::ranks, "ranks", "whose; none: of all");
        field(&InputPush::bytes, "bytes", "as they came");
    }
};
struct InputTaken {
    static constexpr std::uint8_t type = 202;
    static constexpr const char *name = "InputTaken";
    static constexpr const char *text = "the answer to an InputPush, when the bytes are in the processes' pipes";
    std::uint64_t id = 0;
    std::uint32_t given = 0;
    std::int32_t status = 0;
    static constexpr void fields(auto &&field) {
        field(&InputTaken::id, "id", "as in InputPush");
        field(&InputTaken::given, "given", "how many processes got them");
        field(&InputTaken::status, "status", "why others did not; 0: all did");
    }
};

// Between a spawned job and the job that spawned it, through the session, which says from whom it is.
struct ForwardedOutput {
    static constexpr std::uint8_t type = 203;
    static constexpr const char *name = "ForwardedOutput";
    static constexpr const char *text = "what a spawned job has written, for the process that spawned it";
    std::uint64_t id = 0;
    Bytes nspace;
    std::uint32_t host = 0;
    Bytes source;
    std::uint64_t before = 0;
    std::vector<OutputPiece> pieces;
    static constexpr void fields(auto &&field) {
        field(&ForwardedOutput::id, "id", "chosen by the asking daemon; the session puts its own");
        field(&ForwardedOutput::nspace, "nspace", "of the job that spawned it");
        field(&ForwardedOutput::host, "host", "the one of that job by which it was spawned");
        field(&ForwardedOutput::source, "source", "namespace of the spawned job; the session fills it in");
        field(&ForwardedOutput::before, "before", "pieces that were taken before: what comes again is known by it");
        field(&ForwardedOutput::pieces, "pieces", "in order for each stream");
    }
};
struct ForwardedOutputTaken {
    static constexpr std::uint8_t type = 204;
    static constexpr const char *name = "ForwardedOutputTaken";
    static constexpr const char *text = "the answer to a ForwardedOutput: more may come";
    using Answers = ForwardedOutput;
    static constexpr Relayed relayed{.waits_for_people = true};
    std::uint64_t id = 0;
    std::int32_t status = 0;
    static constexpr void fields(auto &&field) {
        field(&ForwardedOutputTaken::id, "id", "as in ForwardedOutput");
        field(&ForwardedOutputTaken::status, "status", "0 or a PMIx status: nobody takes it any more");
    }
};
struct ForwardedInput {
    static constexpr std::uint8_t type = 205;
    static constexpr const char *name = "ForwardedInput";
    static constexpr const char *text = "for the standard input of processes of a spawned job";
    std::uint64_t id = 0;
    Bytes nspace;
    Bytes source;
    std::uint8_t end = 0;
    std::vector<std::uint32_t> ranks;
    Bytes bytes;
    static constexpr void fields(auto &&field) {
        field(&ForwardedInput::id, "id", "chosen by the asking daemon; the session puts its own");
        field(&ForwardedInput::nspace, "nspace", "of the spawned job");
        field(&ForwardedInput::source, "source", "namespace of the job that spawned it; the session fills it in");
        field(&ForwardedInput::end, "end", "1: nothing follows; the streams are closed");
        field(&ForwardedInput::ranks, "ranks", "whose; none: of all");
        field(&ForwardedInput::bytes, "bytes", "as they came");
    }
};
struct ForwardedInputTaken {
    static constexpr std::uint8_t type = 206;
    static constexpr const char *name = "ForwardedInputTaken";
    static constexpr const char *text = "the answer to a ForwardedInput, when the bytes are in the processes' pipes";
    using Answers = ForwardedInput;
    static constexpr Relayed relayed{.waits_for_people = true};
    std::uint64_t id = 0;
    std::int32_t status = 0;
    static constexpr void fields(auto &&field) {
        field(&ForwardedInputTaken::id, "id", "as in ForwardedInput");
        field(&ForwardedInputTaken::status, "status", "0 or a PMIx status");
    }
};

} // namespace pmixhost::wire
