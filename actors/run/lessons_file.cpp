#include "actors/run/lessons_file.hpp"

#include <ATen/ATen.h>
#include "actors/run/sealed_tensors.hpp"

namespace rldp::actors {

namespace {

const std::string lessons_kind = "lessons";

}  // namespace

void write_lessons(const std::filesystem::path& path, const run_model& taught, const privacy::file_seal& seal) {
    sealed_tensors out;
    out.tensors["initial_adapter"] = taught.initial_adapter;
    out.tensors["public_norms"] = at::tensor(taught.public_norms, at::kDouble);
    std::vector<std::int64_t> tokens, lengths;
    for (const auto& one : taught.public_sample) {
        tokens.insert(tokens.end(), one.begin(), one.end());
        lengths.push_back(std::ssize(one));
    }
    out.tensors["sample_tokens"] = at::tensor(tokens, at::kLong);
    out.tensors["sample_lengths"] = at::tensor(lengths, at::kLong);
    write_sealed(path, lessons_kind, std::move(out), seal);
}

run_model read_lessons(run_model model, const std::filesystem::path& path, const privacy::file_seal& seal) {
    const auto read = read_sealed(path, lessons_kind, seal);
    const auto device = model.initial_adapter.device();
    model.initial_adapter = read.tensors.at("initial_adapter").to(device);
    const auto norms = read.tensors.at("public_norms");
    model.public_norms.assign(norms.data_ptr<double>(), norms.data_ptr<double>() + norms.numel());
    const auto &tokens = read.tensors.at("sample_tokens"), &lengths = read.tensors.at("sample_lengths");
    const auto* next = tokens.data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < lengths.numel(); ++i) {
        const auto* end = next + lengths.data_ptr<std::int64_t>()[i];
        model.public_sample.emplace_back(next, end);
        next = end;
    }
    return model;
}

}  // namespace rldp::actors
