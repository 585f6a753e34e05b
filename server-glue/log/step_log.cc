// See step_log.h.
#include "server-glue/log/step_log.h"

#include "common/text/printable.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/log/log_service.h"
#include "server-glue/rm/job_record.h"

#include <pmix.h>
#include <syslog.h>

namespace pmixhost {

// The caller is told that an entry is late when the RM has not recorded it by then.
static constexpr auto record_patience = std::chrono::seconds(30);
static constexpr auto mail_patience = std::chrono::seconds(30);
// Letters that may wait for the program.
static constexpr std::size_t max_letters = 16;
static constexpr auto syslog_patience = std::chrono::seconds(10);
static constexpr std::size_t max_syslog_lines = 64; // that wait

void StepLog::take_asks(UpcallHandlers &handlers) {
    handlers.on<LogAsk>(policy::Action::control, [this](LogAsk ask) { log(std::move(ask)); });
}

void StepLog::log(LogAsk request) {
    if (request.refused != PMIX_SUCCESS)
        return request.reply(request.refused);
    pid_t pid = request.caller.nspace == context_.step.nspace ? context_.tasks->watch().pid_of(request.caller.rank) : 0;
    LogPlaces places;
    places.write = [this, pid](std::vector<TaskText> texts, bool until_one_goes, TaskTexts::Done done) {
        texts_.write(pid, std::move(texts), until_one_goes, std::move(done));
    };
    places.record = [this](const std::string &text, std::function<void(pmix_status_t)> done) {
        record(text, std::move(done));
    };
    places.mail = [this](std::shared_ptr<const Mail> letter, std::function<void(pmix_status_t)> done) {
        mail(std::move(letter), std::move(done));
    };
    places.syslog = [this, priority = request.priority](const std::string &text,
                                                        std::function<void(pmix_status_t)> done) {
        syslog(text, priority, std::move(done));
    };
    log_entries(std::make_shared<LogAsk>(std::move(request)), std::move(places),
                [this](pmix_status_t status, LogAsk &ask) {
                    for (const auto &entry : ask.entries) {
                        if (entry.status != PMIX_SUCCESS)
                            context_.log.info("rank {} could not log to {}: {}", ask.caller.rank,
                                              one_line(entry.channel), PMIx_Error_string(entry.status));
                    }
                    ask.reply(status);
                });
}

void StepLog::record(const std::string &text, std::function<void(pmix_status_t)> done) {
    auto *job_record = context_.backend.job_record();
    if (context_.settings.log_job_record == "off" || !job_record)
        return done(PMIX_ERR_NOT_SUPPORTED);
    job_record->record(text, context_.now() + record_patience, [this, done = std::move(done)](Result<void> recorded) {
        if (recorded)
            return done(PMIX_SUCCESS);
        context_.log.info("the job's record: {}", recorded.failure().text);
        switch (recorded.failure().kind) {
        case ErrorKind::unsupported:
            return done(PMIX_ERR_NOT_SUPPORTED);
        case ErrorKind::limit:
            return done(PMIX_ERR_OUT_OF_RESOURCE);
        case ErrorKind::denied:
            return done(PMIX_ERR_NO_PERMISSIONS);
        case ErrorKind::timeout:
            return done(PMIX_ERR_TIMEOUT);
        default:
            return done(PMIX_ERR_UNREACH);
        }
    });
}

void StepLog::mail(std::shared_ptr<const Mail> letter, std::function<void(pmix_status_t)> done) {
    if (context_.settings.log_mail.empty())
        return done(PMIX_ERR_NOT_SUPPORTED);
    if (!mailer_)
        mailer_.emplace(context_.loop, max_letters);
    mailer_->run(
        {}, context_.now() + mail_patience,
        [letter = std::move(letter), program = context_.settings.log_mail] {
            return send_mail(program, *letter, mail_patience);
        },
        [this, done = std::move(done)](Result<void> sent) {
            if (sent)
                return done(PMIX_SUCCESS);
            context_.log.warning("{}", sent.failure().text);
            ErrorKind kind = sent.failure().kind;
            done(kind == ErrorKind::timeout || kind == ErrorKind::limit ? status_of(kind) : PMIX_ERROR);
        });
}

void StepLog::syslog(std::string text, int priority, std::function<void(pmix_status_t)> done) {
    if (!syslog_)
        syslog_.emplace(context_.loop, max_syslog_lines);
    syslog_->run_alone(
        context_.now() + syslog_patience,
        [text = std::move(text), priority]() -> Result<void> {
            ::syslog(LOG_USER | LOG_PRI(priority), "%s", text.c_str());
            return {};
        },
        [done = std::move(done)](Result<void> written) {
            done(written ? static_cast<pmix_status_t>(PMIX_SUCCESS) : status_of(written.failure()));
        });
}

} // namespace pmixhost
