// Runs that train tensors of the base whole, from configuration to checkpoint.
#include <ATen/ATen.h>

#include <set>

#include "base/files.hpp"
#include "bench/plain_loop.hpp"
#include "eval/report/certificate.hpp"
#include "models/full_checkpoint.hpp"
#include "privacy/spending/ledger.hpp"
#include "run/audit/audit.hpp"
#include "tests/actors/small_runs.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

config::run_config whole(std::vector<std::string> more = {}) {
    std::vector<std::string> set = {R"(train.parameters=["all"])", "train.lr=0.002"};
    set.insert(set.end(), more.begin(), more.end());
    return small(set);
}

std::string read_weight_bytes(const std::filesystem::path& run) {
    return read_file(run / "public/model/model.safetensors");
}

}  // namespace

TEST_CASE("whole: a run of all parameters learns, moves every tensor, and leaves a model that others read", "[full]") {
    scratch_directory scratch;
    const auto base = scratch / "base";
    std::filesystem::copy("config/tiny-gpt2", base);
    for (const auto* name : {"records.txt", "notes.json"}) write_file(base / name, "{\"patient\": \"Smith\"}");
    const auto config = config::load(
        "config/demo.json",
        {R"(train.parameters=["all"])", "train.lr=0.004", "clip.groups=flat", "method.name=static", "train.steps=40",
         "data.max_tokens=64", "train.eval_every=20", "train.eval_records=40", "model.path=" + base.string()});
    const auto summary = run_quietly(config, scratch / "run");
    CHECK(summary.how == eval::ending::done);
    CHECK(summary.groups == std::vector<std::string>{"all parameters"});
    CHECK(summary.table.columns.front() == "gender");
    CHECK(summary.table.rows.size() == 8);
    CHECK(summary.samples.empty());
    REQUIRE(summary.perplexity_after);
    CHECK(*summary.perplexity_after < 0.9 * summary.perplexity_before);
    const auto directory = scratch / "run/public/model";
    const auto before = models::causal_lm::load(config.model.path, at::kFloat, at::kCPU);
    const auto after = models::causal_lm::load(directory, at::kFloat, at::kCPU);
    const auto layout = models::make_tensor_layout(before->config(), {"all"});
    CHECK(layout.dimension == before->parameters());
    CHECK(summary.trainable_parameters == before->parameters());
    for (const auto& tensor : layout.tensors) {
        INFO(tensor.name);
        CHECK_FALSE(at::equal(models::view_part(before->flatten_tensors(layout), tensor),
                              models::view_part(after->flatten_tensors(layout), tensor)));
    }
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) names.insert(entry.path().filename());
    CHECK(names == std::set<std::string>{"README.md", "config.json", "generation_config.json", "model.safetensors",
                                         "tokenizer.json", "tokenizer_config.json"});
    CHECK_FALSE(std::filesystem::exists(scratch / "run/public/adapter"));
    eval::check_named_files({scratch / "run"});
}

TEST_CASE("whole: the controller steers it, and a run that stopped goes on to the same bits") {
    scratch_directory scratch;
    const auto config = whole({"noise.insecure_reproducible=true"});
    const auto summary = run_quietly(config, scratch / "whole");
    CHECK(summary.groups.size() == 2 + 4 * 6 + 1);  // wte, wpe, six modules of each block, ln_f
    {
        auto opened = create_run(config, scratch / "cut");
        bench::run_plain(opened, 7);
    }
    CHECK(resume_quietly(scratch / "cut").steps_done == 12);
    CHECK(read_weight_bytes(scratch / "cut") == read_weight_bytes(scratch / "whole"));
}

TEST_CASE("whole: biases alone are trained, and everything else stays as it was") {
    scratch_directory scratch;
    const auto config = whole({R"(train.parameters=["bias"])", "privacy.pad_batches=true", "train.steps=4"});
    run_quietly(config, scratch / "run");
    const auto described = models::read_model_config(config.model.path);
    const auto all = models::make_tensor_layout(described, {"all"});
    const auto before = models::load_trained_tensors(config.model.path, described, all);
    const auto after = models::load_trained_tensors(scratch / "run/public/model", described, all);
    for (const auto& tensor : all.tensors) {
        INFO(tensor.name);
        CHECK(at::equal(models::view_part(before, tensor), models::view_part(after, tensor)) !=
              tensor.name.ends_with(".bias"));
    }
}

TEST_CASE("whole: units of several records are computed in one pass, however few a micro-batch takes") {
    scratch_directory scratch;
    const auto config = whole({R"(privacy.unit={"group": "patient_nbr"})", "train.micro_batch=1", "train.steps=3"});
    CHECK(run_quietly(config, scratch / "run").steps_done == 3);
}

TEST_CASE("whole: audits work on the released model, finished or not") {
    scratch_directory scratch;
    const auto config =
        whole({"audit.canaries=20", "audit.trials=4", "audit.references=20", "audit.targets=10", "train.steps=4"});
    run_quietly(config, scratch / "run");
    auto run = open_audited(scratch / "run", false);
    read_adapter(run);
    CHECK(run.step == 4);
    CHECK(run.adapter.layout.trains_base());
    CHECK_FALSE(at::equal(run.adapter.flat, run.model.initial_adapter));
    CHECK_FALSE(audit(run, {}).bounds.empty());
}

TEST_CASE("whole: what does not go with it is refused in a line that names the key") {
    const auto said = [](const std::vector<std::string>& more) { return refusal([&] { whole(more); }); };
    CHECK(said({"train.lr=null"}).find("train.lr") != std::string::npos);
    CHECK(said({"lora.rank=4"}).find("lora") != std::string::npos);
    CHECK(said({"model.dtype=bfloat16"}).find("model.dtype") != std::string::npos);
    CHECK(said({"method.name=geoclip"}).find("method.name") != std::string::npos);
    CHECK(said({"method.name=dp_lora"}).find("method.name") != std::string::npos);
    CHECK(said({"clip.groups=factors"}).find("clip.groups") != std::string::npos);
    CHECK(said({"public.path=synthetic:9@1"}).find("public.path") != std::string::npos);
    CHECK(said({"audit.gradient_canaries=4"}).find("audit.gradient_canaries") != std::string::npos);
    scratch_directory scratch;
    CHECK(refusal([&] { create_run(whole({R"(train.parameters=["q"])"}), scratch / "run"); }) ==
          "train.parameters: 'q' is part of 'c_attn' in this gpt2; name that");
}
