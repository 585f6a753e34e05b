// See client_libraries.h.
#include "server-glue/step/client_libraries.h"

#include "common/text/printable.h"

namespace pmixhost {

ClientLibraries::ClientLibraries(Log &log, RmUserNotes *notes, std::string host, LibraryVersion own)
    : log_(log), notes_(notes), host_(std::move(host)), own_(own) {}

void ClientLibraries::let_in(Rank rank, const LibraryVersion &version) {
    if (version != own_)
        others_[rank] = version;
    else if (!others_.empty())
        others_.erase(rank);
}

void ClientLibraries::turned_away(Rank rank, const std::string &why) {
    tell({fmt::format(
              "{}: PMIx_Init of rank {} is refused: {}. In a container, it must have the uid and gid that the user "
              "has outside (unshare --map-current-user; no fakeroot)",
              host_, rank, printable(why, 400)),
          UserNote::Subject::turned_away});
}

std::optional<Rank> ClientLibraries::first_with_other_groups(const std::function<bool(Rank)> &asked) const {
    for (const auto &[rank, version] : others_) {
        if (group_writing(version).kind != group_writing(own_).kind && asked(rank))
            return rank;
    }
    return std::nullopt;
}

void ClientLibraries::tell_of_groups(Rank rank) {
    auto other = others_.find(rank);
    if (other == others_.end())
        return;
    tell({fmt::format("{}: PMIx_Group_construct cannot work for rank {}: the PMIx library of its program (of a "
                      "container?) is {}, that of pmixhost is {}, and the two write about groups in different ways. "
                      "Next: a PMIx library {} for the program, or a pmixhost that is built with one {}",
                      host_, rank, text_of(other->second), text_of(own_), group_writing(own_).versions,
                      group_writing(other->second).versions),
          UserNote::Subject::groups_of_versions});
}

void ClientLibraries::tell(UserNote note) {
    if (!told_.insert(note.subject).second)
        return;
    log_.warning("{}", note.line);
    if (notes_)
        notes_->tell_user(std::move(note), [](Result<void>) {});
}

} // namespace pmixhost
