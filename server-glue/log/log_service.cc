// See log_service.h.
#include "server-glue/log/log_service.h"

#include <fmt/format.h>

namespace pmixhost {

// "2026-01-31T12:00:00Z", or empty when the caller does not want it.
static std::string time_of(const LogAsk &ask) {
    if (!ask.timed)
        return {};
    std::time_t when = ask.time > 0 ? ask.time : std::time(nullptr);
    std::tm parts{};
    char text[64];
    bool told = gmtime_r(&when, &parts) && std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0;
    return told ? text : std::string();
}

// XML has no way to write most control characters.
static std::string as_xml(std::string_view text) {
    std::string out;
    for (char c : text) {
        auto code = static_cast<unsigned char>(c);
        if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\t' || c == '\n' || c == '\r')
            out += fmt::format("&#{:03};", code);
        else
            out += code < ' ' || code == 0x7f ? '?' : c;
    }
    return out;
}

// An element as libpmix writes one for output, a line for each entry.
static std::string element(const LogAsk &ask, std::string_view channel, std::string_view text) {
    std::string time = time_of(ask);
    if (!time.empty())
        time = fmt::format(" timestamp=\"{}\"", time);
    return fmt::format("<{0} nspace=\"{1}\" rank=\"{2}\"{3}>{4}</{0}>\n", channel, as_xml(ask.caller.nspace),
                       ask.caller.rank, time, as_xml(text));
}

// What is written for an entry: "2026-01-31T12:00:00Z stdout: text", or an element of XML.
static std::string shown(const LogAsk &ask, const LogAsk::Entry &entry) {
    const char *channel = entry.fd == 1 ? "stdout" : "stderr";
    if (ask.xml)
        return element(ask, channel, entry.text);
    std::string out = time_of(ask);
    if (!out.empty())
        out += ' ';
    if (ask.tagged)
        out += fmt::format("{}: ", channel);
    return out + entry.text;
}

static pmix_status_t status_of(const LogAsk &ask, std::size_t tried) {
    pmix_status_t first = PMIX_SUCCESS;
    std::size_t good = 0;
    for (std::size_t i = 0; i < tried; ++i) {
        if (ask.entries[i].status == PMIX_SUCCESS)
            ++good;
        else if (first == PMIX_SUCCESS)
            first = ask.entries[i].status;
    }
    if (good > 0 && ask.once)
        return PMIX_SUCCESS;
    return first != PMIX_SUCCESS && good > 0 ? PMIX_ERR_PARTIAL_SUCCESS : first;
}

using LogDone = std::function<void(pmix_status_t, LogAsk &)>;

static void log_from(std::size_t place, std::shared_ptr<LogAsk> ask, std::shared_ptr<const LogPlaces> places,
                     std::shared_ptr<const LogDone> done);

// What comes one behind the other for the caller's output is written together: so nothing else comes between.
static void write_from(std::size_t place, std::shared_ptr<LogAsk> ask, std::shared_ptr<const LogPlaces> places,
                       std::shared_ptr<const LogDone> done) {
    std::vector<TaskText> texts;
    for (std::size_t next = place; next < ask->entries.size() && ask->entries[next].fd >= 0; ++next)
        texts.push_back({ask->entries[next].fd, shown(*ask, ask->entries[next])});
    places->write(std::move(texts), ask->once, [=](const std::vector<bool> &went) {
        for (std::size_t i = 0; i < went.size(); ++i) {
            auto &entry = ask->entries[place + i];
            entry.fd = -1;
            entry.status = went[i] ? PMIX_SUCCESS : PMIX_ERR_OUT_OF_RESOURCE;
        }
        log_from(place, ask, places, done);
    });
}

static void log_from(std::size_t place, std::shared_ptr<LogAsk> ask, std::shared_ptr<const LogPlaces> places,
                     std::shared_ptr<const LogDone> done) {
    for (; place < ask->entries.size(); ++place) {
        auto &entry = ask->entries[place];
        auto go_on = [=](pmix_status_t status) {
            auto &taken = ask->entries[place];
            taken.job_record = taken.syslog = false;
            taken.mail.reset();
            taken.status = status;
            log_from(place, ask, places, done);
        };
        if (entry.job_record)
            return places->record(record_line(*ask, entry.text), go_on);
        if (entry.syslog)
            return places->syslog(record_line(*ask, entry.text), go_on);
        if (entry.mail)
            return places->mail(entry.mail, go_on);
        if (entry.fd >= 0)
            return write_from(place, ask, places, done);
        if (entry.status == PMIX_SUCCESS && ask->once) {
            ++place;
            break;
        }
    }
    (*done)(status_of(*ask, place), *ask);
}

void log_entries(std::shared_ptr<LogAsk> ask, LogPlaces places, LogDone done) {
    for (auto &entry : ask->entries) {
        // XML makes it up to six times as long; of what no pipe holds half an element would come.
        if (!ask->xml || entry.fd < 0 || shown(*ask, entry).size() <= LogAsk::max_text)
            continue;
        entry.fd = -1;
        entry.status = PMIX_ERR_OUT_OF_RESOURCE;
    }
    log_from(0, std::move(ask), std::make_shared<const LogPlaces>(std::move(places)),
             std::make_shared<const LogDone>(std::move(done)));
}

std::string record_line(const LogAsk &ask, const std::string &text) {
    std::string line = fmt::format("[{}:{}] ", ask.caller.nspace, ask.caller.rank);
    for (char c : text)
        line += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? ' ' : c;
    while (line.back() == ' ')
        line.pop_back();
    return line;
}

} // namespace pmixhost
