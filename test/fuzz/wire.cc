// What another daemon, or whoever reaches its port, sends: the frame's header and every message,
// the contact message, the invitation and the signature of a collective. The first byte chooses.
#include "common/transport/contact.h"
#include "common/transport/invitation.h"
#include "common/wire/all_messages.h"
#include "common/wire/frame.h"
#include "server-glue/core/signature.h"
#include "test/fuzz/fuzz.h"

#include <utility>

using namespace pmixhost;

namespace {

// There is one way to write a message: what was read, written again, is what came.
template <typename Message> void round_trip(std::string_view bytes) {
    if (auto message = wire::decode<Message>(bytes))
        fuzz_expect(wire::encode(*message) == bytes);
}
// Nor is there another signature of the same processes.
void one_key(std::string_view bytes) {
    auto signature = read_signature(bytes);
    if (!signature)
        return;
    for (const Members &members : signature->members) {
        if (members.ranks.size() > 10'000)
            continue;
        std::vector<std::uint32_t> ranks;
        for (std::uint32_t rank : members.ranks)
            ranks.push_back(rank);
        fuzz_expect(ranks.size() == members.ranks.size());
        fuzz_expect(wire::encode(wire::RankSet(ranks)) == wire::encode(members.ranks));
    }
}
using Inputs = decltype(std::tuple_cat(std::declval<wire::AllMessages>(),
                                       std::declval<std::tuple<wire::Introduction, wire::GroupPart, Signature>>()));
constexpr std::size_t count = std::tuple_size_v<Inputs>;

template <std::size_t... I> void decode_one(std::size_t which, std::string_view bytes, std::index_sequence<I...>) {
    ((which == I ? round_trip<std::tuple_element_t<I, Inputs>>(bytes) : void()), ...);
}
template <std::size_t... I> void add_seeds(std::vector<std::string> &seeds, std::index_sequence<I...>) {
    (seeds.push_back(std::string(1, static_cast<char>(I)) + wire::encode(std::tuple_element_t<I, Inputs>{})), ...);
}

} // namespace

int fuzz_rounds() {
    return 100'000;
}

std::vector<std::string> fuzz_seeds() {
    std::vector<std::string> seeds;
    add_seeds(seeds, std::make_index_sequence<count>());
    wire::CollectiveUp up;
    Signature signature{CollectiveKind::fence, {{"a", 1, {}}, {"b", 0, {0, 1, 7}}, {"c", 0, {0, 1000, 2000, 9000}}}};
    up.signature = wire::encode(signature);
    up.contributions = {{0, "x"}, {3, "yy"}};
    seeds.push_back("\3" + wire::encode(up));
    seeds.push_back(std::string(1, static_cast<char>(count - 1)) + wire::encode(signature));
    Contact contact{3, 4711, Bytes(16, 'c'), {"10.0.0.1", "fd00::1"}};
    seeds.push_back(std::string(1, static_cast<char>(count)) + wire::encode(contact));
    Invitation invitation;
    invitation.contact = wire::encode(contact);
    invitation.step_key = "key";
    invitation.host_count = 4;
    invitation.nspace = "a";
    seeds.push_back(std::string(1, static_cast<char>(count + 2)) + wire::encode(invitation));
    auto header = wire::encode_header({16, 100});
    seeds.push_back(std::string(1, static_cast<char>(count + 1)) + std::string(header.data(), header.size()));
    return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return 0;
    std::string_view bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
    std::size_t which = data[0] % (count + 3);
    if (which < count) {
        decode_one(which, bytes, std::make_index_sequence<count>());
        if (which == count - 1)
            one_key(bytes);
    } else if (which == count) {
        if (auto contact = Contact::decode(bytes))
            fuzz_expect(contact->addresses.size() <= 16 && wire::encode(*contact) == bytes);
    } else if (which == count + 2) {
        if (auto invitation = Invitation::decode(bytes))
            fuzz_expect(wire::encode(*invitation) == bytes);
    } else if (bytes.size() >= wire::frame_header_size) {
        if (auto header = wire::decode_header(bytes.data(), wire::unauthenticated_limit))
            fuzz_expect(header->length <= wire::unauthenticated_limit);
    }
    return 0;
}
