#include <ATen/ATen.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <limits>

#include "base/error.hpp"
#include "base/files.hpp"
#include "config/open_keys.hpp"
#include "eval/report/certificate.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/full_checkpoint.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/audit/audit.hpp"
#include "run/audit_evidence.hpp"
#include "run/checkpoint.hpp"
#include "run/public_training.hpp"
#include "run/run_end.hpp"

namespace rldp::actors {

namespace {

void check_run(const eval::run_directory& where, bool during_run) {
    const auto name = where.root.string();
    if (!std::filesystem::exists(where.ledger())) refuse(name + ": holds no run (public/ledger.jsonl is missing)");
    if (!std::filesystem::exists(where.membership()))
        refuse(name + ": trusted/membership.json is missing, so who was in training is not known; bring it back");
    const bool over = is_over(where);
    if (!over && !during_run)
        refuse(name + ": the run is not over; finish it with rldp run --resume " + name +
               ", or audit its last checkpoint with --during-run");
    if (over && during_run) refuse(name + ": the run is over; leave --during-run away");
}

void read_checkpoint_into(audited_run& run) {
    const privacy::file_seal seal(privacy::run_key::load_insecure(run.where.key()));  // no streams are drawn from it
    auto saved = read_checkpoint(run.where.checkpoint(), seal);
    if (run.spec.public_path) run.model = read_lessons(load_model(run.spec), run.where.lessons(), seal);
    const auto& last = saved.training.optimizer.parameters;
    const auto& average = saved.training.average;  // where there is one, it is what would be released
    run.adapter = {run.model.layout,
                   (average.defined() ? average.to(last.options()) : last).to(run.model.initial_adapter.device())};
    run.trace = saved.training.trace;
    run.step = nlohmann::json::parse(saved.training.rest).at("step");
}

void read_finished_into(audited_run& run) {
    eval::check_named_files(run.where);  // no attack on an adapter that the run didn't release
    run.adapter = released_adapter(run.where, run.model);
    if (std::filesystem::exists(run.where.trace())) {
        run.trace = read_trace(run.where.trace());
        if (run.trace.sizes() != at::IntArrayRef{run.model.layout.dimension})
            refuse(run.where.trace().string() + ": is not this run's; bring back its own");
    }
    run.step = eval::parse_summary(read_text(run.where.summary())).steps_done;
}

}  // namespace

models::loaded_adapter released_adapter(const eval::run_directory& where, const run_model& model) {
    const auto device = model.initial_adapter.device();
    if (model.layout.trains_base())
        return {model.layout,
                models::load_trained_tensors(where.model(), model.base->config(), model.layout).to(device)};
    auto loaded = models::load_adapter(where.adapter(), model.base->config());
    const auto described = model.layout.dimension;
    if (loaded.layout.dimension != described)
        refuse(fmt::format("{}: has {} numbers, but public/config.json describes {}; bring back the run's own",
                           where.adapter().string(), loaded.layout.dimension, described));
    return {loaded.layout, loaded.flat.to(device)};
}

std::optional<eval::split_text> audited_run::split(const std::string& record, std::size_t beginning) const {
    const auto most = static_cast<std::size_t>(token_limit(spec, model.base->config()));
    return eval::split_at([&](const std::string& text) { return words->encode(text); }, record, beginning, most,
                          spec.data.keep == kept_end::tail);
}

audited_run open_audited(const std::filesystem::path& directory, bool during_run,
                         const std::vector<std::string>& overrides) {
    audited_run out;
    out.where = {directory};
    finish_end(out.where);
    check_run(out.where, during_run);
    // Nothing else is asked of it: runs of earlier versions, which leave newer keys open, are audited too.
    const auto config = eval::read_configuration(out.where, overrides);
    out.spec = config::to_reading_spec(config);
    out.clip = config::to_clip_spec(config);
    out.method = config::find_method(config).name;
    out.micro_batch = config::read_micro_batch(config);
    out.who = eval::read_membership(out.where.membership());
    out.pool = load_audit_pool(out.spec);
    if (eval::data_hmac(out.who.salt, out.pool.digest) != out.who.data_hmac)
        refuse(
            fmt::format("{}: the run was trained on other records than data.path {} gives now; bring back the "
                        "original data",
                        out.where.membership().string(), out.spec.data.path));
    out.header = privacy::read_ledger(out.where.ledger()).header;
    out.model = load_model(out.spec);
    out.words = load_tokenizer(out.spec, out.model.base->config());
    return out;
}

void read_adapter(audited_run& run) {
    try {
        if (!is_over(run.where)) return read_checkpoint_into(run);
    } catch (const error&) {
        await_end(run.where);
        if (!is_over(run.where)) throw;  // else it has ended while we read
    }
    read_finished_into(run);
}

eval::audit_report audit(const audited_run& run, const std::vector<std::filesystem::path>& shadows) {
    using clock = std::chrono::steady_clock;
    const auto begun = clock::now();
    const bool promised = run.header.guarantee().holds();
    eval::audit_report out;
    out.run = run.where.root.string();
    out.method = run.method;
    out.step = run.step;
    out.steps = run.header.steps;
    out.claimed_epsilon = promised ? run.header.epsilon_guaranteed : std::numeric_limits<double>::infinity();
    out.delta = run.header.delta;
    out.confidence = run.spec.audit.confidence;
    out.bounds = bound_epsilon(run, out.left_out);
    out.membership = guess_members(run, out.left_out);
    if (!shadows.empty()) out.shadows = compare_with_shadows(run, shadows, out.left_out);
    out.exposure = expose(run);
    out.extractions = extract(run, out.left_out);
    out.seconds = std::chrono::duration<double>(clock::now() - begun).count();
    if (std::filesystem::exists(run.where.audit_json())) out.course = eval::read_course(run.where.audit_json());
    std::erase_if(out.course, [&](const auto& point) { return point.step >= out.step; });
    out.course.push_back(eval::make_point(out));
    return out;
}

std::filesystem::path write_audit(const eval::run_directory& where, const eval::audit_report& report) {
    create_private_directory(where.audit());
    write_file(where.audit_json(), eval::audit_json(report), 0600);
    write_file(where.audit_text(), eval::audit_text(report), 0600);
    write_file(where.audit_page(), eval::audit_html(report), 0600);
    return where.audit_page();
}

}  // namespace rldp::actors
