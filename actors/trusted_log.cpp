#include "actors/trusted_log.hpp"

#include <spdlog/sinks/basic_file_sink.h>

#include "config/base/append_file.hpp"

namespace rldp::actors {

std::shared_ptr<spdlog::logger> open_trusted_log(const std::filesystem::path& path) {
    if (!std::filesystem::exists(path)) append_file{path};  // as private as its directory
    auto log =
        std::make_shared<spdlog::logger>("trusted", std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string()));
    // spdlog's own handler prints to standard error.
    log->set_error_handler([](const std::string&) {});
    return log;
}

}  // namespace rldp::actors
