#include "actors/run/lessons_file.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "actors/run/public_lessons.hpp"
#include "actors/run/sealed_tensors.hpp"

namespace rldp::actors {

namespace {

const std::string lessons_kind = "lessons";

/// The tensors of a pair's ground, with the names that they have in the file.
std::vector<std::pair<std::string, at::Tensor models::pair_ground::*>> parts_of_ground(std::size_t pair) {
    const auto name = [&](const char* part) { return fmt::format("{}.{}", pair, part); };
    return {{name("a"), &models::pair_ground::a},
            {name("b"), &models::pair_ground::b},
            {name("in"), &models::pair_ground::in},
            {name("out"), &models::pair_ground::out}};
}

}  // namespace

void write_lessons(const std::filesystem::path& path, const run_model& taught, const privacy::file_seal& seal) {
    sealed_tensors out;
    out.tensors["initial_adapter"] = taught.initial_adapter;
    out.tensors["public_norms"] = at::tensor(taught.public_norms, at::kDouble);
    for (std::size_t i = 0; i < taught.layout.grounds.size(); ++i)
        for (const auto& [name, part] : parts_of_ground(i))
            if ((taught.layout.grounds[i].*part).defined()) out.tensors[name] = taught.layout.grounds[i].*part;
    std::vector<std::int64_t> tokens, lengths;
    for (const auto& one : taught.public_sample) {
        tokens.insert(tokens.end(), one.begin(), one.end());
        lengths.push_back(std::ssize(one));
    }
    out.tensors["sample_tokens"] = at::tensor(tokens, at::kLong);
    out.tensors["sample_lengths"] = at::tensor(lengths, at::kLong);
    write_sealed(path, lessons_kind, std::move(out), seal);
}

run_model recalled(const config::reading_spec& spec, run_model model, const std::filesystem::path& path,
                   const privacy::file_seal& seal) {
    const auto read = read_sealed(path, lessons_kind, seal);
    const auto device = model.initial_adapter.device();
    model.layout = layout_once_taught(spec, model.layout);
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
    if (spec.changes_coordinates()) model.layout.grounds.assign(model.layout.pairs.size(), {});
    for (std::size_t i = 0; i < model.layout.grounds.size(); ++i)
        for (const auto& [name, part] : parts_of_ground(i))
            if (read.tensors.contains(name)) model.layout.grounds[i].*part = read.tensors.at(name).to(device);
    return model;
}

}  // namespace rldp::actors
