#pragma once
// How failures cross between actors: an rldp code and one line. What went wrong on the trusted side may name a record,
// so only "this actor failed" crosses; the detail goes to the trusted log.
#include <spdlog/logger.h>

#include <caf/all.hpp>
#include <exception>
#include <memory>
#include <string>

#include "actors/trusted_log.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/system.hpp"
#include "run/ranks/link.hpp"

namespace rldp::actors {

inline caf::error failure(errc code, const std::string& line) {
    return caf::error{static_cast<std::uint8_t>(code == errc::interrupted ? 4 : static_cast<int>(code)),
                      caf::atom("rldp"), caf::make_message(line)};
}

/// The exception that a caf::error stands for: one made by failure(), or any other as a plain failure.
inline error to_exception(const caf::error& reason) {
    if (reason.category() == caf::atom("rldp") && reason.context().match_elements<std::string>()) {
        const auto code = reason.code() == 4 ? errc::interrupted : static_cast<errc>(reason.code());
        return {code, reason.context().get_as<std::string>(0)};
    }
    return {errc::failed, "an actor stopped: " + caf::to_string(reason)};
}

inline std::string describe_failure(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& e) {
        const std::string line = describe_exception(e), all = e.what();
        return all.starts_with(line) ? all : line + "\n" + all;
    } catch (...) {
        return "unknown exception";
    }
}

/// The exception's own line.
inline caf::error public_failure(const std::string& name, const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const error& e) {
        return failure(e.code(), e.what());
    } catch (...) {
        const auto line = describe_failure(thrown);
        return failure(errc::failed, name + ": " + line.substr(0, line.find('\n')));
    }
}

/// Public actors end with the exception's own line.
template <class Self>
void fail_publicly(Self* self) {
    self->set_exception_handler([name = std::string(self->state.name)](std::exception_ptr& thrown) -> caf::error {
        return public_failure(name, thrown);
    });
}

/// What a request gets that was given up because the run was asked to stop.
inline caf::error stopped() {
    return failure(errc::interrupted, "stopped");
}

inline bool is_stopped(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const error& e) {
        return e.code() == errc::interrupted;
    } catch (...) {
        return false;
    }
}

inline bool is_stopped(const caf::error& reason) {
    return to_exception(reason).code() == errc::interrupted;
}

/// All that crosses of a trusted actor's failure.
inline caf::error silent_failure(const std::string& name, const spdlog::logger& trusted_log) {
    const bool kept = trusted_log.name() != nowhere;
    return failure(errc::failed,
                   name + " failed; the detail is " +
                       (kept ? "in trusted/trusted.log" : "kept nowhere: this rank sees no trusted/ of rank 0") +
                       ". The run can be resumed");
}

/// Trusted actors end with their name alone, with the path that could not be written, or with the rank that is gone.
template <class Self>
void fail_silently(Self* self, std::shared_ptr<spdlog::logger> trusted_log) {
    self->set_exception_handler(
        [name = std::string(self->state.name), log = std::move(trusted_log)](std::exception_ptr& thrown) -> caf::error {
            log->error("{} failed: {}", name, describe_failure(thrown));
            log->flush();
            try {
                std::rethrow_exception(thrown);
            } catch (const storage_error& e) {
                return failure(e.code(), std::string(e.what()) + ". The run can be resumed");
            } catch (const ranks::peer_error& e) {
                return failure(e.code(), e.what());
            } catch (...) {
                return silent_failure(name, *log);
            }
        });
}

}  // namespace rldp::actors
