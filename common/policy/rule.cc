// See rule.h.
#include "common/policy/rule.h"

#include "common/config/config_values.h"
#include "common/text/nearest_name.h"
#include "common/text/printable.h"

#include <algorithm>

namespace pmixhost::policy {

static constexpr std::string_view form = "allow|deny ACTIONS by WHO to jobs of WHOSE from WHERE";

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

// "; did you mean observe?", or nothing.
static std::string likely(std::string_view word, std::vector<std::string> known) {
    auto nearest = nearest_name(word, known);
    return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

std::string_view name_of(Action action) {
    return action_names[static_cast<std::size_t>(action)];
}

Result<Action> parse_action(std::string_view name) {
    auto found = std::find(std::begin(action_names), std::end(action_names), name);
    if (found != std::end(action_names))
        return static_cast<Action>(found - std::begin(action_names));
    return error(ErrorKind::invalid, "there is no such action{}; allowed: {}",
                 likely(name, {std::begin(action_names), std::end(action_names)}), fmt::join(action_names, ", "));
}

namespace {

// Reads the rule from left to right. What is expected decides what a word means, so a user may be called "from".
class RuleReader {
  public:
    RuleReader(const PlacedText &source, const Names &names) : source_(source), names_(names), left_(source.text) {}

    Result<Rule> read() {
        Rule rule;
        rule.source = source_;
        if (auto ok = bounded(); !ok)
            return ok.failure();
        next();
        if (word_ != "allow" && word_ != "deny")
            return wrong("a rule begins with allow or deny{}", likely(word_, {"allow", "deny"}));
        rule.allows = word_ == "allow";
        next();
        auto add_action = [&] { return action(rule.actions); };
        auto add_asker = [&] { return party(rule.askers, false); };
        auto add_owner = [&] { return party(rule.owners, true); };
        auto add_place = [&] { return place(rule.places); };
        for (auto ok :
             {list("everything", add_action), keyword("by"), list("anyone", add_asker), keyword("to"), keyword("jobs"),
              keyword("of"), list("anyone", add_owner), keyword("from"), list("anywhere", add_place)}) {
            if (!ok)
                return ok.failure();
        }
        if (!ended())
            return wrong("nothing may follow here; a list has commas between its items");
        return rule;
    }

  private:
    template <typename... Args> Error wrong(fmt::format_string<Args...> format, Args &&...args) {
        failed_ = true;
        std::string text = fmt::format(format, std::forward<Args>(args)...);
        if (ended())
            return error(ErrorKind::invalid, "{}: the rule ends too early: {} (a rule is: {})", source_.place, text,
                         form);
        return error(ErrorKind::invalid, "{}: word {}, \"{}\": {}", source_.place, number_, printable(word_), text);
    }

    Result<void> bounded() const {
        if (source_.text.size() > max_rule_bytes)
            return error(ErrorKind::limit, "{}: the rule has {} characters, more than {}; make several of it",
                         source_.place, source_.text.size(), +max_rule_bytes);
        auto control = std::find_if(source_.text.begin(), source_.text.end(), [](char c) {
            return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
        });
        if (control != source_.text.end())
            return error(ErrorKind::invalid, "{}: character {} of the rule is a control character", source_.place,
                         control - source_.text.begin() + 1);
        return {};
    }

    bool ended() const { return word_.empty(); }

    // The next word; a comma is one, which does not count.
    void next() {
        while (!left_.empty() && is_blank(left_.front()))
            left_.remove_prefix(1);
        std::size_t length = 0;
        while (length < left_.size() && !is_blank(left_[length]) && left_[length] != ',')
            ++length;
        if (length == 0 && !left_.empty())
            length = 1;
        word_ = left_.substr(0, length);
        left_.remove_prefix(length);
        number_ += word_ != ",";
    }

    Result<void> keyword(std::string_view expected) {
        if (failed_)
            return {};
        if (word_ != expected)
            return ended() ? wrong("'{}' is expected here", expected)
                           : wrong("'{}' is expected here (a rule is: {})", expected, form);
        next();
        return {};
    }

    // `all` stands alone and comes to `add` as a word like others.
    template <typename Add> Result<void> list(std::string_view all, Add add) {
        if (failed_)
            return {};
        bool has_all = false;
        for (std::size_t items = 0;; next()) {
            if (ended() || word_ == ",")
                return wrong("{}, or the next item of a list, is expected here", all);
            if (++items > max_rule_items)
                return wrong("a list has at most {} items; make several rules of it", +max_rule_items);
            has_all = has_all || word_ == all;
            if (has_all && items > 1)
                return wrong("'{}' needs nothing beside it", all);
            if (auto ok = add(); !ok)
                return ok;
            next();
            if (word_ != ",")
                return {};
        }
    }

    Result<void> action(std::uint8_t &actions) {
        if (word_ == "everything") {
            actions = every_action;
            return {};
        }
        auto one = parse_action(word_);
        if (!one)
            return wrong("{}, or everything", one.failure().text);
        actions |= bit_of(*one);
        return {};
    }

    Result<void> party(std::vector<Party> &parties, bool owners) {
        if (word_ == "anyone") {
            parties.push_back({Party::Kind::anyone});
            return {};
        }
        if (word_ == "themselves") {
            if (!owners)
                return wrong("this is who asks, and can only stand behind 'to jobs of'");
            parties.push_back({Party::Kind::themselves});
            return {};
        }
        if (word_.front() == '!')
            return wrong("there is no negation: a rule before this one says who is excepted");
        if (word_.front() == '%')
            return wrong("a group is written @{}", printable(word_.substr(1)));
        bool group = word_.front() == '@';
        auto id = number(group ? word_.substr(1) : word_, group);
        if (!id)
            return id.failure();
        parties.push_back({group ? Party::Kind::group : Party::Kind::user, *id});
        return {};
    }

    Result<std::uint32_t> number(std::string_view name, bool group) {
        const char *what = group ? "group" : "user";
        if (name.empty())
            return wrong("the name of a {} is missing", what);
        if (std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
            auto id = parse_number(name, no_id - 1);
            if (!id)
                return wrong("the number of a {} is at most {}", what, no_id - 1);
            return static_cast<std::uint32_t>(*id);
        }
        auto id = group ? names_.group(std::string(name)) : names_.user(std::string(name));
        if (!id && id.failure().kind == ErrorKind::not_found)
            return wrong("there is no such {} on this host", what);
        if (!id) {
            Error unknown = wrong("whether there is such a {} cannot be told: {}", what, id.failure().text);
            unknown.kind = ErrorKind::system;
            return unknown;
        }
        if (*id == no_id)
            return wrong("this {} has the number of nobody, {}", what, no_id);
        return *id;
    }

    Result<void> place(std::vector<Place> &places) {
        if (word_ == "anywhere" || word_ == "here") {
            places.push_back({word_ == "here" ? Place::Kind::here : Place::Kind::anywhere});
            return {};
        }
        auto network = parse_network(word_);
        if (!network)
            return wrong("{}; allowed: here, anywhere, addresses, networks such as 10.0.0.0/8", network.failure().text);
        if (network->is_loopback())
            return wrong("this host is written: here");
        places.push_back({Place::Kind::network, *network});
        return {};
    }

    const PlacedText &source_;
    const Names &names_;
    std::string_view left_; // what has not been read
    std::string_view word_; // empty at the end
    unsigned number_ = 0;   // of that word, from 1
    bool failed_ = false;
};

} // namespace

Result<Rule> parse_rule(const PlacedText &source, const Names &names) {
    return RuleReader(source, names).read();
}

} // namespace pmixhost::policy
