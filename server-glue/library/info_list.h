// A growing array of pmix_info_t that owns what it holds, and the nested arrays that job
// information is made of. Values are copied in.
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

namespace pmixhost {

class InfoList {
  public:
    InfoList() = default;
    InfoList(InfoList &&) noexcept = default;
    InfoList &operator=(InfoList &&) = delete;
    InfoList(const InfoList &) = delete;
    ~InfoList();

    void add(const char *key, const std::string &text);
    void add(const char *key, const char *text) { add(key, std::string(text)); }
    void add(const char *key, std::uint32_t number);
    void add(const char *key, std::uint16_t number);
    void add(const char *key, std::uint64_t number);
    void add(const char *key, int number);
    void add(const char *key, bool flag);
    void add_float(const char *key, float number);
    void add_size(const char *key, std::size_t number);
    void add_rank(const char *key, pmix_rank_t rank);
    void add_process(const char *key, const pmix_proc_t &process);
    void add_processes(const char *key, const std::vector<pmix_proc_t> &processes);
    void add_strings(const char *key, const std::vector<std::string> &texts);
    void add_bytes(const char *key, const std::string &bytes);
    void add_status(const char *key, pmix_status_t status);
    void add_time(const char *key, time_t time);
    // A nested array of info: job, session, app, node or process realm.
    void add_array(const char *key, InfoList &&elements);
    struct ProcessInfo { // a pmix_proc_info_t
        pmix_proc_t process;
        std::string host, executable;
        pid_t pid;
        int exit_code;
        pmix_proc_state_t state;
    };
    void add_process_infos(const char *key, const std::vector<ProcessInfo> &processes);
    struct App { // a pmix_app_t, of one process
        std::string command;
        std::vector<std::string> argv, environment;
        std::string directory;
    };
    // An array of one element.
    void add_app(const char *key, const App &app);
    struct Attribute { // a pmix_regattr_t
        std::string name, key;
        pmix_data_type_t type;
    };
    void add_attributes(const char *key, const std::vector<Attribute> &attributes);
    void append_all(InfoList &&others);
    void remove_all(const char *key);
    // Adds `count` elements that have neither key nor value, for the caller to fill. The pointer is valid until the
    // next add.
    pmix_info_t *add_empty(std::size_t count);
    // Adds what PMIx_generate_regex or _ppn gave: only the library knows its length.
    void add_regex(const char *key, const char *regex);

    const pmix_info_t *data() const { return infos_.empty() ? nullptr : infos_.data(); }
    pmix_info_t *data() { return infos_.empty() ? nullptr : infos_.data(); }
    std::size_t size() const { return infos_.size(); }
    const std::vector<pmix_info_t> &all() const { return infos_; }

  private:
    pmix_info_t &append(const char *key);
    // Adds an array of zeroed elements, which the caller fills.
    void *empty_array(const char *key, pmix_data_type_t type, std::size_t count, std::size_t element_size);
    std::vector<pmix_info_t> infos_; // bitwise movable: the library treats them so
};

} // namespace pmixhost
