// See gate_rules.h.
#include "server-glue/gate/gate_rules.h"

#include "common/policy/accounts.h"
#include "common/policy/policy_load.h"
#include "common/text/printable.h"
#include "server-glue/gate/tool_gate.h"

#include <algorithm>
#include <optional>
#include <unistd.h>

namespace pmixhost {

using namespace std::chrono_literals;

// For groups that change.
static constexpr Duration known_for = 60s;
static constexpr std::size_t most_known = 4096;
static constexpr std::size_t most_asked = 256;
static constexpr Duration reading_patience = 60s;

GateRules::Read GateRules::read(const std::string &config) {
    Read out;
    out.addresses = policy::addresses_of_host();
    auto loaded = load_config(config, {});
    if (!loaded) {
        out.wrong.push_back(loaded.failure().text);
        out.policy = policy::Policy::closed({loaded.failure().text, "the configuration"});
        return out;
    }
    auto site = policy::load_site_policy(*loaded, policy::SystemNames());
    for (const auto &each : site.errors)
        out.wrong.push_back(each.text);
    out.policy = std::move(site.policy);
    out.settings = std::move(loaded->settings);
    out.has_settings = true;
    return out;
}

// A directory that hangs holds a thread; another one takes its place a few times.
GateRules::GateRules(EventLoop &loop, Log &log, Read read, std::string config, Done done, Duration again)
    : loop_(loop), log_(log), config_(std::move(config)), done_(std::move(done)), again_(again),
      accounts_(loop, most_asked, {4, 4}), files_(loop, 1) {
    use(std::move(read), true);
}

// What is wrong is said to who asked for the reading, and once where the clock did.
void GateRules::use(Read read, bool was_asked_for) {
    if (was_asked_for || read.wrong != wrong_) {
        for (const auto &each : read.wrong)
            log_.error("tools: {}", each);
    }
    if (read.wrong.empty() && !wrong_.empty())
        log_.warning("the rules for tools are right by now");
    wrong_ = std::move(read.wrong);
    policy_ = std::move(read.policy);
    addresses_ = std::move(read.addresses);
    known_.clear();
    next_reading_.reset();
    if (!wrong_.empty())
        read_again_later(false);
}

void GateRules::read_again_later(bool was_asked_for) {
    next_reading_ = loop_.after(again_, [this, was_asked_for] { read_again(was_asked_for); });
}

void GateRules::reload() {
    read_again(true);
}

void GateRules::read_again(bool was_asked_for) {
    auto work = [config = config_]() -> Result<Read> { return read(config); };
    files_.run_alone(loop_.now() + reading_patience, work, [this, was_asked_for](Result<Read> read) {
        if (!read) {
            // Those of before are in force, and perhaps looser than what is to be: once is not enough.
            if (was_asked_for)
                log_.error("the rules for tools were not read again: {}; they are tried again and again",
                           read.failure().text);
            read_again_later(was_asked_for);
            return;
        }
        std::optional<Settings> settings;
        if (read->has_settings)
            settings = read->settings;
        use(std::move(*read), was_asked_for);
        if (was_asked_for)
            log_.warning("the rules for tools were read again{}",
                         wrong_.empty() ? "" : ", and nobody is let in until they are right");
        if (settings)
            done_(*settings);
    });
}

// `request` says then from where, and what.
policy::Decision GateRules::decide_on_others(policy::Request &request, Given &given,
                                             std::optional<policy::Action> action) const {
    std::vector<policy::Location> places;
    for (const auto &address : addresses_)
        places.push_back(policy::Location::at(address));
    if (places.empty())
        places.push_back(policy::Location::here());

    // The first from where it is allowed, else the last.
    auto first_from = [&](auto decide) {
        policy::Decision decision;
        for (const auto &place : places) {
            request.from = place;
            if (decision = decide(); decision.allowed)
                break;
        }
        return decision;
    };
    auto allows = [&](policy::Action one) {
        request.action = one;
        return policy_.decide(request);
    };
    auto allows_everything = [&] { return policy_.decide_everything(request); };
    given = Given::everything;
    if (!action)
        return first_from(allows_everything);
    bool from_fewer = std::any_of(places.begin(), places.end(), [&](const policy::Location &place) {
        request.from = place;
        return allows(*action).allowed && !allows_everything().allowed;
    });
    auto everything = first_from(allows_everything);
    if (everything.allowed && !from_fewer)
        return everything;
    given = Given::action;
    return first_from([&] { return allows(*action); });
}

policy::Decision GateRules::decide_on_own(const policy::Request &request) const {
    auto decision = policy_.decide(request);
    if (!decision.allowed && policy_.leaves_to_owner(request))
        return {true, {"left to the file of the jobs' user", "tools.user_policy"}, ""};
    return decision;
}

Result<GateRules::Given> GateRules::decide(const policy::Person &asker, const policy::Person &owner,
                                           const Question &question) {
    policy::Request request{asker, question.pid, question.from, owner, question.job, policy::Action::observe};
    bool of_others = asker.uid != owner.uid;
    Given given = Given::everything;
    auto decision = of_others ? decide_on_others(request, given, question.action) : decide_on_own(request);
    // Outside of what the lines of own tools use up: who comes to others' jobs is to be found in the log.
    if (decision.allowed && of_others) {
        log_.warning("{}", policy::log_line(request, decision));
    } else if (auto level = decision.allowed ? LogLevel::info : LogLevel::warning; log_.enabled(level)) {
        // What is not written uses up no lines.
        if (auto missed = lines_.admit(asker.uid, loop_.now()))
            log_.write(level, policy::log_line(request, decision) + not_logged(*missed));
    }
    if (decision.allowed)
        return given;
    // Not the rule itself: the file may be the gate's alone, and who may read it finds the line.
    return error(ErrorKind::denied, "the site's rules (tools.policy) do not let it, by {}",
                 printable(decision.by.place, 200));
}

void GateRules::find(uid_t user, Found found) {
    if (auto known = known_.find(user); known != known_.end() && loop_.now() < known->second.until)
        return found(policy::Person(known->second.person));
    auto &asked = asked_[user];
    asked.push_back(std::move(found));
    if (asked.size() > 1)
        return; // one look is enough for all
    accounts_.run(
        {}, loop_.now() + ToolGate::Limits().patience, [user] { return policy::find_account(user); },
        [this, user](const Result<policy::Account> &account) {
            auto answered = asked_.extract(user);
            if (account) {
                if (known_.size() >= most_known)
                    known_.clear();
                known_[user] = {account->person, loop_.now() + known_for};
            }
            // The kind of that failure says nothing of the rules.
            Result<policy::Person> person = account ? Result<policy::Person>(account->person)
                                                    : error(ErrorKind::system, "{}", account.failure().text);
            for (auto &each : answered.mapped())
                each(person);
        });
}

void GateRules::judge(Question question, std::function<void(Result<Given>)> done) {
    find(question.asker, [this, question, done = std::move(done)](const Result<policy::Person> &asker) {
        if (!asker)
            return done(asker.failure());
        if (question.asker == question.owner)
            return done(decide(*asker, *asker, question));
        find(question.owner, [this, question, asker = *asker, done](const Result<policy::Person> &owner) {
            done(owner ? decide(asker, *owner, question) : Result<Given>(owner.failure()));
        });
    });
}

} // namespace pmixhost
