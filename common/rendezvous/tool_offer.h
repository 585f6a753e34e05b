// What a step's daemon says of its server to whoever started the step, so that tools of that host find the job
// (plugins/kit/tool_door.h). One line. Header-only, because the shims of RMs use it too.
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"

#include <charconv>
#include <sstream>
#include <string>

namespace pmixhost {

struct ToolOffer {
    std::string server_nspace;
    Rank server_rank = 0;
    std::string version; // of the server's library
    std::string job_nspace;
    std::string base; // directory in which those of users are made; empty: there are to be none that tools search for

    std::string text() const {
        return fmt::format("{} {} {} {} {}", server_nspace, server_rank, version, job_nspace,
                           base.empty() ? "-" : base);
    }
    // Fails (invalid).
    static Result<ToolOffer> parse(const std::string &text) {
        ToolOffer offer;
        std::istringstream words(text);
        std::string rank;
        words >> offer.server_nspace >> rank >> offer.version >> offer.job_nspace;
        auto [end, code] = std::from_chars(rank.data(), rank.data() + rank.size(), offer.server_rank);
        if (code != std::errc() || end != rank.data() + rank.size())
            words.setstate(std::ios::failbit);
        std::getline(words >> std::ws, offer.base);
        // They get into names of files.
        for (const auto *word : {&offer.server_nspace, &offer.version, &offer.job_nspace}) {
            if (word->empty() || word->find_first_of("/;") != word->npos)
                words.setstate(std::ios::failbit);
        }
        if (!words.fail() && offer.base == "-")
            offer.base.clear();
        else if (words.fail() || !offer.base.starts_with('/'))
            return error(ErrorKind::invalid, "an offer for tools is garbled");
        return offer;
    }
};

} // namespace pmixhost
