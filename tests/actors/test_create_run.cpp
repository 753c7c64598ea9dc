// What is settled, or refused, before a run begins.
#include <ATen/ATen.h>

#include <cmath>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "bench/plain_loop.hpp"
#include "eval/held_out.hpp"
#include "models/architecture/model_config.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/marked_token.hpp"
#include "privacy/spending/ledger.hpp"
#include "privacy/spending/verify.hpp"
#include "run/first/proposals.hpp"
#include "run/public_training.hpp"
#include "run/resolve.hpp"
#include "run/step_gradients.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/actors/small_runs.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

TEST_CASE(
    "a ledger that was cut behind the checkpoint or the release log is refused, or its draws would be made twice") {
    scratch_directory scratch;
    // Of lines, a look's the first; the checkpoint was written after charge 5, release 7 is logged.
    for (const std::size_t left : {3U, 7U}) {
        const auto directory = scratch / ("run" + std::to_string(left));
        {
            auto opened = create_run(small(), directory);
            bench::run_plain(opened, 7);
        }
        const auto ledger = eval::run_directory{directory}.ledger();
        auto text = read_file(ledger);
        std::size_t end = 0;
        for (std::size_t line = 0; line <= left; ++line) end = text.find('\n', end) + 1;
        write_file(ledger, text.substr(0, end));
        const auto said = refusal([&] { resume_run(directory); });
        CHECK(said.find("ledger.jsonl") + said.find("releases.log") != std::string::npos);
        CHECK(said.find(left == 3 ? "written after charge 5" : "release 7 (step 7) was never charged") !=
              std::string::npos);
    }
}

namespace {

/// The embedded model in a directory of its own, one tensor changed.
template <class Change>
void change_model(const std::filesystem::path& directory, const std::string& name, Change change) {
    std::filesystem::create_directories(directory);
    std::filesystem::copy("config/tiny-gpt2", directory,
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
    std::map<std::string, at::Tensor> tensors;
    {
        const models::safetensors_file file(directory / "model.safetensors");
        for (const auto& each : file.names()) tensors[each] = file.tensor(each).clone();
    }
    change(tensors.at(name));
    models::save_safetensors(directory / "model.safetensors", tensors);
}

}  // namespace

TEST_CASE(
    "a base that no budget can train is refused before anything is charged, and a run goes on with its own base only") {
    scratch_directory scratch;
    const auto base = scratch / "base";
    const auto config = small({"model.path=" + base.string()});
    const std::string weight = "transformer.h.0.mlp.c_fc.weight";
    change_model(base, weight, [](at::Tensor& w) { w[0][0] = std::nan(""); });
    CHECK(refusal([&] { create_run(config, scratch / "run"); }).find("not finite") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(scratch / "run"));

    change_model(base, weight, [](at::Tensor&) {});
    { create_run(config, scratch / "run"); }
    CHECK_NOTHROW(resume_run(scratch / "run"));
    change_model(base, weight, [](at::Tensor& w) { w[0][0] += 0.5; });
    CHECK(refusal([&] { resume_run(scratch / "run"); }).find(base.string()) != std::string::npos);
}

TEST_CASE("a run directory is made beside its place and leaves others alone") {
    scratch_directory scratch;
    std::filesystem::create_directories(scratch / "run.partial");
    write_file(scratch / "run.partial/precious", "x");
    { create_run(small(), scratch / "run"); }
    CHECK(read_file(scratch / "run.partial/precious") == "x");
    CHECK(std::distance(std::filesystem::directory_iterator(scratch / "."), {}) == 2);
    // Another run is begun there while this one reads.
    const opening slow{.tell = [&](const loading&) { std::filesystem::create_directories(scratch / "other"); }};
    CHECK(refusal([&] { create_run(small(), scratch / "other", slow); }).find("other: exists already") !=
          std::string::npos);
    std::filesystem::remove(scratch / "other");
    CHECK_THROWS_AS(create_run(small({"data.path=nowhere.csv"}), scratch / "other"), error);
    CHECK(std::distance(std::filesystem::directory_iterator(scratch / "."), {}) == 2);
}

TEST_CASE("a method whose question would take the whole noise multiplier is refused before anything is charged") {
    scratch_directory scratch;
    const auto wrong = [&](const char* how) {
        return refusal([&] { create_run(small({"method.name=autoclip_quantile", how}), scratch / "run"); });
    };
    CHECK(wrong("method.query_noise=0.1").find("leaves nothing") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(scratch / "run"));
}

TEST_CASE("radii from public data are there from the first step, and are the same again") {
    scratch_directory scratch;
    const auto config = small({"public.path=synthetic:60", "public.use=[\"radii\"]", "rl.actions=[\"noise\"]"});
    const auto first = create_run(config, scratch / "a"), second = create_run(config, scratch / "b");
    const auto radii = first.parts.steps->training().radii();
    CHECK(radii == second.parts.steps->training().radii());
    CHECK(radii.size() == first.facts->model.layout.pairs.size());
    for (const double radius : radii) CHECK((radius > 0 && radius != 0.1));
    // Fewer records than a batch has are a batch of their own.
    const auto few = create_run(small({"public.path=synthetic:2", "public.use=[\"warm_start\"]"}), scratch / "c");
    CHECK_FALSE(at::equal(few.facts->model.initial_adapter, first.facts->model.initial_adapter));
}

TEST_CASE("rows that are made up of the template are each shown once, whatever the batch") {
    scratch_directory scratch;
    const auto taught = [&](const std::string& name, const std::string& batch, const std::string& rows) {
        const auto config = small({"public.path=template:" + rows, "public.steps=5", "public.lr=0.01", batch});
        return create_run(config, scratch / name).facts->model.initial_adapter;
    };
    const auto of_forty = taught("a", "train.expected_batch_size=6", "40");
    CHECK(at::equal(taught("b", "train.expected_batch_size=12", "40"), of_forty));
    CHECK_FALSE(at::equal(taught("c", "train.expected_batch_size=6", "80"), of_forty));
}

TEST_CASE("public records choose the iterate on which they lose less, and a file of lessons keeps them") {
    scratch_directory scratch;
    const auto config = small(
        {"public.path=synthetic:100", "public.steps=2", "train.average=tail", R"(public.use=["warm_start","choose"])"});
    const auto facts = create_run(config, scratch / "a", {.lessons = scratch / "kept"}).facts;
    const auto& model = facts->model;
    REQUIRE(model.public_sample.size() == 64);
    CHECK(create_run(config, scratch / "b", {.lessons = scratch / "kept"}).facts->model.public_sample ==
          model.public_sample);
    const auto keeps_last = make_iterate_choice(facts->spec, model);
    REQUIRE(keeps_last);
    const auto& good = model.initial_adapter;
    const auto bad = good + at::randn_like(good);
    CHECK(keeps_last(good, bad));
    CHECK_FALSE(keeps_last(bad, good));
    CHECK_FALSE(keeps_last(good, good));
    CHECK(keeps_last(good, at::full_like(good, std::nan(""))));
    // Nothing to choose, nobody to ask; nothing else to learn, nothing learnt.
    const auto plain = create_run(small(), scratch / "c");
    CHECK_FALSE(make_iterate_choice(plain.facts->spec, plain.facts->model));
    const auto alone = create_run(
        small({"public.path=synthetic:100", "train.average=tail", R"(public.use=["choose"])"}), scratch / "d");
    CHECK(
        at::equal(alone.facts->model.initial_adapter, create_run(small(), scratch / "e").facts->model.initial_adapter));
    CHECK(alone.facts->model.public_sample.size() == 64);
}

TEST_CASE("what a learning controller is told of public records is the log of what they lose") {
    scratch_directory scratch;
    const auto config = small_prepared(scratch / "policy.safetensors", true,
                                       {"public.path=synthetic:100", "public.steps=2", "rl.online=true"});
    const auto opened = create_run(config, scratch / "a");
    const auto& run = *opened.facts;
    const auto& model = run.model;
    REQUIRE(model.public_sample.size() == 64);
    const auto probe = make_public_probe(run.spec, model);
    REQUIRE(probe);
    const auto& good = model.initial_adapter;
    const auto found = eval::score_held_out(*model.base, &model.layout, &good, model.public_sample, {.batch = 3});
    CHECK(std::exp(probe(good)) == Approx(found.value_nats.value_or(std::log(found.perplexity))).epsilon(1e-5));
    CHECK(probe(good + at::randn_like(good)) > probe(good));
    CHECK(probe(at::full_like(good, std::nan(""))) == std::log(1e6));
    auto offline = run.spec;
    offline.controller.online = false;
    CHECK_FALSE(make_public_probe(offline, model));
}

TEST_CASE("runs that share lessons learn them once, and only where they would learn the same") {
    scratch_directory scratch;
    const auto lessons = scratch / "lessons";
    const auto begun = [&](const std::string& name, std::vector<std::string> set) {
        for (const auto* each : {"public.path=synthetic:60", "public.lr=0.01"}) set.emplace_back(each);
        return create_run(small(set), scratch / name, {.lessons = lessons}).facts->model;
    };
    const auto kept = [&] {
        return std::distance(std::filesystem::directory_iterator(lessons), std::filesystem::directory_iterator{});
    };
    const auto first = begun("first", {}), again = begun("again", {"train.lr=0.02"});
    CHECK(kept() == 1);
    CHECK(at::equal(again.initial_adapter, first.initial_adapter));

    begun("seed", {"seed=7"});
    begun("rank", {"lora.rank=4"});
    begun("batch", {"train.expected_batch_size=5"});
    begun("blocks", {"model.quantize=int8"});
    CHECK(kept() == 5);

    for (const auto& file : std::filesystem::directory_iterator(lessons)) {
        auto bytes = read_file(file.path());
        bytes.back() = static_cast<char>(bytes.back() ^ 1);
        write_file(file.path(), bytes);
    }
    CHECK(refusal([&] { begun("damaged", {}); }).find("damaged; delete it") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(scratch / "damaged"));
}

TEST_CASE("a tokenizer that can give ids beyond the model's vocabulary is refused, whatever the records hold") {
    scratch_directory scratch;
    const auto base = scratch / "base";
    change_model(base, "transformer.h.0.mlp.c_fc.weight", [](at::Tensor&) {});
    const auto config = small({"model.path=" + base.string()});
    CHECK_NOTHROW(check(config));
    auto tokenizer = nlohmann::json::parse(read_file(base / "tokenizer.json"));
    const auto vocabulary = models::read_model_config(base).vocab;
    auto beyond = tokenizer;
    beyond["model"]["vocab"]["never in a record"] = vocabulary;
    write_file(base / "tokenizer.json", beyond.dump());
    CHECK(refusal([&] { check(config); }).find("the tokenizer gives ids up to") != std::string::npos);
    CHECK(refusal([&] { create_run(config, scratch / "run"); }).find("gives ids up to") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(scratch / "run"));
    // An added token beyond it, as Gemma 3 has one, is never given: where a text has it, it is text.
    tokenizer["added_tokens"].push_back({{"id", vocabulary},
                                         {"content", "<|image|>"},
                                         {"single_word", false},
                                         {"lstrip", false},
                                         {"rstrip", false},
                                         {"normalized", false},
                                         {"special", true}});
    write_file(base / "tokenizer.json", tokenizer.dump());
    const auto plan = check(config);
    CHECK(std::any_of(plan.warnings.begin(), plan.warnings.end(),
                      [](const auto& line) { return line.find("no row for (<|image|>)") != std::string::npos; }));
    const auto ids =
        load_tokenizer(config::to_reading_spec(config), models::read_model_config(base))->encode("an <|image|>");
    CHECK(*std::max_element(ids.begin(), ids.end()) < vocabulary);
}

TEST_CASE("with a declared N, what is printed of the plan says nothing exact about the data") {
    const auto printed = [](const char* data) {
        const auto config = small({"privacy.population=300", data});
        return to_json(check(config), false);
    };
    const auto one = printed("data.path=synthetic:400");
    auto other = printed("data.path=synthetic:300");
    for (auto at = other.find("synthetic:300"); at != std::string::npos; at = other.find("synthetic:300"))
        other.replace(at, 13, "synthetic:400");  // the path, which the configuration names
    CHECK(one == other);
    CHECK(one.find("private") == std::string::npos);
    const auto config = small({"privacy.population=300"});
    const auto counts = nlohmann::json::parse(to_json(check(config), true)).at("private_counts");
    CHECK(counts.at("units").get<int>() > 200);
    CHECK(counts.at("records") == counts.at("units"));
}

TEST_CASE("what remains under trusted/ names the data under a salt of its own") {
    scratch_directory scratch;
    const auto config = small({"train.steps=2"});
    run_quietly(config, scratch / "a");
    run_quietly(config, scratch / "b");
    const auto digest = load_audit_pool(config::to_reading_spec(config)).digest;
    const auto a = eval::read_membership(scratch / "a/trusted/membership.json");
    const auto b = eval::read_membership(scratch / "b/trusted/membership.json");
    CHECK(a.data_hmac != b.data_hmac);
    CHECK(a.data_hmac == eval::data_hmac(a.salt, digest));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch / "a"))
        if (entry.is_regular_file()) CHECK(read_file(entry.path()).find(digest) == std::string::npos);
}

TEST_CASE("public data that share records with the table are refused") {
    scratch_directory scratch;
    std::string table, others;
    for (int i = 0; i < 60; ++i) {
        table += "record number " + std::to_string(i) + " of the table\n";
        others += "a public sentence, number " + std::to_string(i) + "\n";
    }
    write_file(scratch / "table.txt", table);
    write_file(scratch / "public.txt", others);
    write_file(scratch / "mixed.txt", others + "record number 7 of the table\n");
    std::filesystem::create_symlink(scratch / "table.txt", scratch / "link.txt");
    const auto said = [&](const char* name) {
        return refusal([&] {
            check(config::load("config/demo.json",
                               {"data.path=" + (scratch / "table.txt").string(), "data.template=null",
                                "train.expected_batch_size=6", "public.path=" + (scratch / name).string()}));
        });
    };
    CHECK(said("public.txt").empty());
    for (const auto* name : {"table.txt", "link.txt", "mixed.txt"}) {
        CHECK(said(name).find("public.path") != std::string::npos);
        CHECK(said(name).find("number 7") == std::string::npos);
    }
}

TEST_CASE("padding pays for larger draws within a hundredth of δ") {
    const auto config = small({"privacy.pad_batches=true", "privacy.population=300", "train.expected_batch_size=30"});
    const auto plan = check(config);
    REQUIRE(plan.padded);
    CHECK(plan.padded->units > 30);
    CHECK(plan.padded->units < 120);
    CHECK(plan.padded->delta > 0);
    CHECK(plan.padded->delta <= 1e-7);
    CHECK(plan.padded->shape.tokens == 24);
    // One unit of room less would cost more than that.
    const auto without = check(small({"privacy.population=300", "train.expected_batch_size=30"}));
    CHECK(plan.noise_multiplier > without.noise_multiplier);
    CHECK(plan.noise_multiplier < 1.01 * without.noise_multiplier);

    // Canaries of an audit are drawn as the others are: as many more, as much more room.
    const auto audited = check(small(
        {"privacy.pad_batches=true", "privacy.population=300", "audit.canaries=300", "train.expected_batch_size=30"}));
    const auto of_600 =
        check(small({"privacy.pad_batches=true", "privacy.population=600", "train.expected_batch_size=60"}));
    CHECK(audited.padded->units == of_600.padded->units);
    CHECK(audited.padded->delta == of_600.padded->delta);

    scratch_directory scratch;
    const auto summary = run_quietly(config, scratch / "run");
    CHECK(summary.how == eval::ending::done);
    const auto header = privacy::read_ledger(scratch / "run/public/ledger.jsonl").header;
    CHECK(header.padding_delta == plan.padded->delta);
    CHECK(plan.epsilon_committed == summary.epsilon_spent);  // both at what the padding leaves of δ
    CHECK(header.delta == 1e-5);
    CHECK_NOTHROW(privacy::verify(privacy::read_ledger(scratch / "run/public/ledger.jsonl")));

    // A refusal would tell how many units there are.
    CHECK(check(small({"privacy.pad_batches=true", "privacy.population=30"})).population == 30);
    CHECK(refusal([&] {
              check(small({"privacy.pad_batches=true", "privacy.population=300", "data.max_tokens=256",
                           "train.micro_batch=65536"}));
          }).find("GiB") != std::string::npos);
}

namespace {

/// The embedded model with a chat template, and 60 questions with answers.
config::run_config talking(const scratch_directory& scratch, std::vector<std::string> more = {}) {
    std::filesystem::copy("config/tiny-gpt2", scratch / "talker",
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
    scratch.write("talker/chat_template.jinja",
                  "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
                  "{% if add_generation_prompt %}<assistant>{% endif %}");
    std::string lines;
    for (int i = 0; i < 60; ++i)
        lines += R"({"messages": [{"role": "user", "content": "What is )" + std::to_string(i) +
                 R"(?"}, {"role": "assistant", "content": "It is )" + std::to_string(i) + R"(."}]})" + "\n";
    const auto data = scratch.write("talks.jsonl", lines);
    std::vector<std::string> set = {"data.path=" + data,  "model.path=" + (scratch / "talker").string(),
                                    "data.template=null", "data.chat=true",
                                    "data.max_tokens=64", "eval.target=null",
                                    "privacy.book=none",  "privacy.delta=1e-3"};
    set.insert(set.end(), more.begin(), more.end());
    return small(set);
}

/// The marked tokens' text.
std::string learned(const models::tokenizer& words, std::span<const std::int32_t> record) {
    std::vector<std::int32_t> ids;
    for (const auto token : record)
        if (models::is_marked(token)) ids.push_back(models::unmarked(token));
    return words.decode(ids);
}

run_data load_run_data(const config::run_config& config) {
    const auto model = models::read_model_config(config.model.path);
    const auto spec = config::to_reading_spec(config);
    return load_data(spec, *load_tokenizer(spec, model), token_limit(spec, model), nullptr);
}

eval::held_out evaluated(const config::run_config& config) {
    const auto model = models::read_model_config(config.model.path);
    const auto spec = config::to_reading_spec(config);
    return make_held_out(spec, load_run_data(config).held_out, *load_tokenizer(spec, model), token_limit(spec, model));
}

}  // namespace

TEST_CASE("what is made up to compare and to time machines is learned where only answers are") {
    const scratch_directory scratch;
    const auto config = talking(scratch, {"privacy.population=48"});
    auto model = load_model(config::to_reading_spec(config));
    auto spec = resolve(config, 48, model.base->config());
    const auto here = digest_of_arithmetic(spec, model, 64);
    model.initial_adapter = model.initial_adapter * 1.001;  // as if public records had taught it
    CHECK(digest_of_arithmetic(spec, model, 64) == here);
    ++spec.seed;
    CHECK(digest_of_arithmetic(spec, model, 64) != here);
    CHECK(estimate_time(config, check(config)).value().seconds > 0);  // throws where nothing is computed
}

TEST_CASE("of conversations the answers are learned, and secrets that are planted in them or made up for an audit") {
    const scratch_directory scratch;
    const auto config = talking(scratch, {"data.canaries=20", "audit.canaries=3"});
    const auto words = load_tokenizer(config::to_reading_spec(config), models::read_model_config(config.model.path));
    const auto data = load_run_data(config);
    REQUIRE_FALSE(data.planted.empty());
    std::size_t secrets = 0;
    for (std::size_t i = 0; i < data.train.size(); ++i) {
        const auto unit = data.train[i];
        REQUIRE(unit.records.size() == 1);
        const auto text = learned(*words, unit.records[0]);
        CAPTURE(text);
        CHECK(text.starts_with("It is "));
        CHECK(text.find('<') == std::string::npos);
        secrets += text.find("secret_id=") != std::string::npos ? 1 : 0;
    }
    CHECK(secrets == data.planted.size());
    REQUIRE(data.audit_canaries.size() == 3);
    for (const auto& unit : data.audit_canaries)
        CHECK(learned(*words, unit.records.at(0)).find("secret_id=") != std::string::npos);
    CHECK(evaluated(config).answers_only);
    CHECK(refusal([&] {
              evaluated(talking(scratch, {"data.max_tokens=4", "data.keep=head", "eval.publish=raw"}));
          }).find("no held-out conversation has an answer") != std::string::npos);
    CHECK(refusal([&] {
              private_source(
                  config::to_reading_spec(small({"data.chat=true", "data.template=null", "eval.target=null"})));
          }).find("has no chat template") != std::string::npos);
}

TEST_CASE("of public conversations those judge adapters whose answers are kept") {
    const scratch_directory scratch;
    std::string lines;
    for (int i = 0; i < 100; ++i) {
        const auto asked = i < 30 ? std::to_string(i) : std::string(400, 'x') + std::to_string(i);
        lines += R"({"messages": [{"role": "user", "content": ")" + asked +
                 R"("}, {"role": "assistant", "content": "It is )" + std::to_string(i) + R"(."}]})" + "\n";
    }
    const auto config =
        talking(scratch, {"public.path=" + scratch.write("public.jsonl", lines), R"(public.use=["choose"])",
                          "train.average=tail", "data.keep=head", "data.max_tokens=48", "privacy.population=48"});
    const auto facts = create_run(config, scratch / "run").facts;
    CHECK(facts->model.public_sample.size() == 30);
    CHECK(make_iterate_choice(facts->spec, facts->model)(facts->model.initial_adapter,
                                                         at::full_like(facts->model.initial_adapter, std::nan(""))));
}

TEST_CASE("bytes that a tokenizer has no token for are told once, whatever the records hold") {
    const scratch_directory scratch;
    const auto warned = [&](const config::run_config& config) {
        const auto said = load_run_data(config).warnings;
        return std::count(said.begin(), said.end(),
                          "model.path: the tokenizer has no token for 2 of the bytes that texts are made of (0x06, "
                          "0xf1); records lose them");
    };
    const auto config = talking(scratch);
    CHECK(warned(config) == 0);
    auto words = nlohmann::json::parse(read_file(scratch / "talker/tokenizer.json"));
    auto& vocabulary = words["model"]["vocab"];
    const std::vector<std::pair<std::string, std::string>> others = {{"\u0106", "06"}, {"\u00F1", "F1"}};
    for (const auto& [letter, other] : others) {  // the byte's letter in such vocabularies
        vocabulary["<" + other + ">"] = vocabulary.at(letter);
        vocabulary.erase(letter);
    }
    write_file(scratch / "talker/tokenizer.json", words.dump());
    CHECK(warned(config) == 1);
}

TEST_CASE("of fewer units that are looked at all are among more, whether the number was given or chosen") {
    auto config = small({"train.eval_records=20"});
    const auto many = evaluated(config).sequences;
    REQUIRE(many.size() > 10);
    config.train.eval_records = 7;
    const auto few = evaluated(config).sequences;
    REQUIRE(few.size() < many.size());
    REQUIRE_FALSE(few.empty());
    for (const auto& one : few) CHECK(std::find(many.begin(), many.end(), one) != many.end());
    config.train.eval_records.reset();
    auto chosen = config;
    chosen.train.eval_records = 7;
    const auto model = models::read_model_config(config.model.path);
    const auto spec = config::to_reading_spec(chosen);
    const auto tokens = load_tokenizer(spec, model);
    CHECK(make_held_out(spec, load_run_data(config).held_out, *tokens, token_limit(spec, model)).sequences == few);
}

TEST_CASE("who is looked at follows from each unit's own hash: a unit more or fewer moves no other") {
    const auto looked = [](std::int64_t records, const char* population) {
        const auto config =
            small({"train.eval_records=12", "data.path=synthetic:" + std::to_string(records), population});
        auto out = evaluated(config).sequences;
        std::sort(out.begin(), out.end());
        return out;
    };
    // With a declared N the share is public; made-up tables of more records begin with those of fewer.
    auto few = looked(400, "privacy.population=216");
    const auto first = few.size();
    for (std::int64_t records = 401; records < 440; ++records) {
        const auto more = looked(records, "privacy.population=216");
        CHECK(std::includes(more.begin(), more.end(), few.begin(), few.end()));
        CHECK(more.size() <= few.size() + 1);
        few = more;
    }
    CHECK(few.size() > first);
}

TEST_CASE("a model's chat template is a part of what a run belongs to") {
    const scratch_directory scratch;
    const auto config = talking(scratch);
    const auto digest = [&] { return load_model(config::to_reading_spec(config), {.identify = true}).digest; };
    const auto before = digest();
    CHECK(digest() == before);
    scratch.write("talker/chat_template.jinja", "{{ messages[0].content }}");
    CHECK(digest() != before);
}

TEST_CASE("weights are read once, and not again while their files are what they were") {
    const scratch_directory scratch;
    const auto config = talking(scratch);
    const auto file = std::filesystem::path(config.model.path) / "model.safetensors";
    const auto first = load_model(config::to_reading_spec(config), {.identify = true});
    CHECK(load_model(config::to_reading_spec(config)).digest.empty());
    const read_weights noted{first.weights.facts, "noted"};
    CHECK(load_model(config::to_reading_spec(config), {.identify = true, .known = noted}).weights.digest == "noted");
    const auto written = std::filesystem::last_write_time(file);
    auto bytes = read_file(file);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    std::ofstream(file, std::ios::binary) << bytes;
    std::filesystem::last_write_time(file, written);  // as a copying program does; ctime tells
    const auto changed = load_model(config::to_reading_spec(config), {.identify = true, .known = noted});
    CHECK(changed.weights.digest.size() == 64);
    CHECK(changed.weights.digest != first.weights.digest);
    CHECK(changed.digest != first.digest);
}

TEST_CASE("a model and its records tell how much of them is read") {
    const scratch_directory scratch;
    const auto config = talking(scratch);
    std::mutex one_at_a_time;
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> most;  // done, of how much
    const on_loading tell = [&](const loading& seen) {
        const std::lock_guard lock(one_at_a_time);
        auto& held = most[std::string(seen.what)];
        held = std::max(held, std::pair(seen.done, seen.total));
    };
    const auto model = load_model(config::to_reading_spec(config), {.tell = tell});
    const auto tokens = load_tokenizer(config::to_reading_spec(config), model.base->config());
    const auto data = load_data(config::to_reading_spec(config), *tokens, 64, nullptr, tell);
    CHECK(most.at("weights") == std::pair(4 * model.base->parameters(), 4 * model.base->parameters()));
    CHECK(most.at("records").first == most.at("records").second);
    CHECK(most.at("records").first >= data.records);
}

TEST_CASE("a base is held in blocks where model.quantize says so, and a run's page names them") {
    const auto spec = config::to_reading_spec(config::load("config/demo.json", {"model.quantize=int8"}));
    const auto plain = load_model(config::to_reading_spec(config::load("config/demo.json", {})), {.identify = true});
    const auto model = load_model(spec, {.identify = true});
    CHECK(model.base->is_quantized());
    CHECK_FALSE(plain.base->is_quantized());
    CHECK(model.base->config().in_blocks.type == "int8");
    CHECK(model.digest == plain.digest);  // the files are the same; what is made of them the configuration says
    CHECK(model.base->parameters() == plain.base->parameters());
    auto quantized_already = plain.base->config();
    quantized_already.in_blocks = {64, 36, "nf4"};
    CHECK(
        has(refusal([&] { check_quantization(spec, quantized_already); }), "is quantized already (nf4); leave it out"));
    const auto whole =
        config::to_reading_spec(config::load("config/demo.json", {"train.parameters=[\"all\"]", "train.lr=0.001"}));
    CHECK(has(refusal([&] { check_quantization(whole, quantized_already); }), "train adapters"));
    CHECK_NOTHROW(check_quantization(spec, plain.base->config()));
}
