#include "actors/trusted_log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/null_sink.h>

#include "base/files.hpp"

namespace rldp::actors {

std::shared_ptr<spdlog::logger> open_trusted_log(const std::filesystem::path& path) {
    if (!std::filesystem::exists(path)) append_file{path};  // as private as its directory
    auto log =
        std::make_shared<spdlog::logger>("trusted", std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string()));
    // spdlog's own handler prints to standard error.
    log->set_error_handler([](const std::string&) {});
    return log;
}

std::shared_ptr<spdlog::logger> trusted_log_of_rank(const std::filesystem::path& path) {
    std::error_code absent;
    if (std::filesystem::is_directory(path.parent_path(), absent)) return open_trusted_log(path);
    return std::make_shared<spdlog::logger>(nowhere, std::make_shared<spdlog::sinks::null_sink_mt>());
}

}  // namespace rldp::actors
