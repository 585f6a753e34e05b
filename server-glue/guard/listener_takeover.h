// Takes the socket on which libpmix listens away from it, so that it hears only of connections that
// are handed to it.
//
// PMIx_server_init makes a TCP socket and calls listen(). pmixhostd has a listen() of its own
// (listener_interposition.cc), which the dynamic linker prefers. In the thread and for the time of a Scope it keeps
// the library's socket for us, listening, and puts a stand-in in its place under the same number: one end of a socket
// pair. The library waits for that one to become readable and calls accept(); pmixhostd's accept() takes from it the
// number of a connection that hand_over() has sent. Nothing of the library is changed or looked into, and whatever
// else it does with the stand-in fails.
//
// A socket of ours can listen before the library starts: then its bind() is ours too, and puts that socket in the place
// of the library's, which so learns the address that clients have been told.
//
// Tried with OpenPMIx 4.2.2 (a thread with select and accept) and 5.0.7 (an event and accept): the unit tests of this
// folder, test/e2e/common/clients.sh and test/fault/local. Both take EAGAIN for nothing. It is noticed when a library
// goes another way: listener() stays empty when it never called listen() here, and all_taken() stays false when it
// takes in another way.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <memory>
#include <string>

namespace pmixhost {

class ListenerTakeover {
  public:
    // Fails (system) where there is no socket pair.
    static Result<std::unique_ptr<ListenerTakeover>> create();
    // Likewise, and listens at once, where the library will: at the first address of the loopback interface. Fails
    // (unsupported) where that is not an IPv4 one.
    static Result<std::unique_ptr<ListenerTakeover>> create_listening();
    ListenerTakeover(const ListenerTakeover &) = delete;

    // While it lives, the first listen() on an internet socket in this thread is the library's.
    class Scope {
      public:
        explicit Scope(ListenerTakeover &takeover);
        ~Scope();
        Scope(const Scope &) = delete;
    };

    // The library's listening socket (non-blocking, close-on-exec), or -1. It is this object's.
    int listener() const { return listener_.get(); }
    // Has the library got the stand-in?
    bool stands_in() const { return !librarys_end_; }
    // Where the socket listens, as PMIx writes it: tcp4://127.0.0.1:PORT. Empty if it cannot be told.
    std::string address() const;

    // Nobody can connect from now on, nor be handed over by who listens.
    void stop_listening() { listener_.reset(); }

    // Gives the library a connection, and with it the ownership. Fails (limit) when it has left so many untaken that
    // no more fit. Any thread, one at a time.
    Result<void> hand_over(UniqueFd connection);
    // Has the library taken all that was handed to it?
    bool all_taken() const;

    // For listener_interposition.cc alone.
    static bool wants_bind(int fd); // is this bind() the library's, for which there is a socket already?
    static int take_bind(int fd);   // as bind(2)
    static bool wants(int fd);      // is this listen() the library's, in this thread?
    static int take(int fd);        // as listen(2)
    static int accept(int fd);      // as accept(2); `fd` is no listening socket

  private:
    ListenerTakeover() = default;
    UniqueFd own_end_, librarys_end_, listener_;
    bool early_ = false; // listened before the library did
    int bound_ = -1;     // then: the number under which the library has that socket
};

} // namespace pmixhost
