// An answer that is given exactly once. Moving moves the duty; giving it twice is impossible (the second call does
// nothing), and forgetting it answers with the default at destruction. Code that answers by other means (an upcall by
// its status) disarms it.
#pragma once

#include <functional>
#include <memory>
#include <tuple>
#include <utility>

namespace pmixhost {

template <typename... Args> class OneShot {
  public:
    OneShot() = default;
    OneShot(std::function<void(Args...)> answer, Args... forgotten)
        : answer_(std::move(answer)), forgotten_(std::make_shared<std::tuple<Args...>>(std::move(forgotten)...)) {}
    OneShot(OneShot &&other) noexcept
        : answer_(std::exchange(other.answer_, nullptr)), forgotten_(std::move(other.forgotten_)) {}
    OneShot &operator=(OneShot &&other) noexcept {
        if (this != &other) {
            settle();
            answer_ = std::exchange(other.answer_, nullptr);
            forgotten_ = std::move(other.forgotten_);
        }
        return *this;
    }
    ~OneShot() { settle(); }

    bool pending() const { return static_cast<bool>(answer_); }
    void disarm() { answer_ = nullptr; }
    void operator()(Args... args) {
        if (auto answer = std::exchange(answer_, nullptr))
            answer(std::move(args)...);
    }

  private:
    void settle() {
        if (auto answer = std::exchange(answer_, nullptr))
            std::apply(answer, std::move(*forgotten_));
    }
    std::function<void(Args...)> answer_;
    std::shared_ptr<std::tuple<Args...>> forgotten_;
};

} // namespace pmixhost
