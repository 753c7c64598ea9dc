#include "actors/run/trace_file.hpp"

#include "config/base/error.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "privacy/keys/digest.hpp"

namespace rldp::actors {

namespace {

const std::string tensor_name = "trace", checksum = "checksum";

/// The key of a run is gone by the time that this is read: a checksum tells damage, not forgery.
std::string compute_checksum(const at::Tensor& trace) {
    return privacy::sha256({static_cast<const char*>(trace.data_ptr()), trace.nbytes()});
}

}  // namespace

void write_trace(const std::filesystem::path& path, const at::Tensor& trace) {
    const auto stored = trace.detach().cpu().contiguous();
    models::save_safetensors(path, {{tensor_name, stored}}, {{checksum, compute_checksum(stored)}});
}

at::Tensor read_trace(const std::filesystem::path& path) {
    const models::safetensors_file file(path);
    auto trace = file.tensor(tensor_name).clone();
    const auto found = file.metadata().find(checksum);
    if (found == file.metadata().end() || found->second != compute_checksum(trace))
        refuse(path.string() + ": is damaged; bring back the run's own file");
    return trace;
}

}  // namespace rldp::actors
