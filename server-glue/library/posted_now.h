// What processes have posted so far (PmixLibrary::posted_data_now()). The library answers what it can while it handles
// a request, and keeps one for a process that has committed nothing until it has: so one such request is enough,
// whoever asks meanwhile, and a look is over with what is handled behind its requests. Pure: which requests are to be
// made, and who gets what is answered. In the loop's thread.
#pragma once

#include "common/base/bytes.h"
#include "common/job/job_map.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pmixhost {

class PostedNow {
  public:
    using Done = std::function<void(std::map<Rank, Bytes>)>;
    class Look {
      public:
        explicit Look(Done done) : done_(std::move(done)) {}

      private:
        friend class PostedNow;
        Done done_; // null: it is over
        std::map<Rank, Bytes> data_;
    };

    // Looks at these processes, as long as the look is kept and has not ended. Gives with it those that the library is
    // to be asked for; for the others it is asked already.
    std::pair<std::shared_ptr<Look>, std::vector<Rank>> begin(const std::string &nspace, const std::vector<Rank> &ranks,
                                                              Done done);
    // The library has answered its request, with what the process has posted; null: it could not.
    void on_answer(const std::string &nspace, Rank rank, const Bytes *data);
    // Calls its `done` with what is there. Once.
    static void end(Look &look);

  private:
    // Who waits for the answer to a request that the library has not answered, by process.
    std::map<std::pair<std::string, Rank>, std::vector<std::weak_ptr<Look>>> unanswered_;
};

} // namespace pmixhost
