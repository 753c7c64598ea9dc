// Certificates against runs: what verify refuses, and by which name.
#include "eval/report/certificate.hpp"

#include <algorithm>
#include <fstream>
#include <random>

#include "privacy/keys/digest.hpp"
#include "run/artifacts/run_log.hpp"
#include "tests/catch.hpp"
#include "tests/eval/report/fake_finished_run.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

namespace fs = std::filesystem;

struct signed_run {
    scratch_directory scratch;
    privacy::signing_key owner = privacy::signing_key::create(scratch / "owner");
    eval::run_directory run;

    explicit signed_run(const std::vector<std::string>& set = {}) : run(write_run(scratch / "run", small_config(set))) {
        eval::certify_run(run, &owner);
    }
    std::string verdict(const std::optional<privacy::verifying_key>& key = std::nullopt) const {
        return refusal([&] { eval::verify_run(run, key); });
    }
};

bool mentions(const std::vector<eval::finding>& all, const std::string& subject) {
    return std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.subject == subject; });
}

/// Without the fsyncs of write_file.
void put(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("a signed run verifies, and says what it checked and what it could not") {
    for (const auto& set : std::vector<std::vector<std::string>>{{},
                                                                 {"noise.policy=fixed"},
                                                                 {"noise.policy=filter"},
                                                                 {"privacy.accountant=rdp"},
                                                                 {"privacy.unit={\"group\": \"patient\"}"}}) {
        const signed_run made(set);
        const auto seen = eval::verify_run(made.run, made.owner.public_half());
        for (const char* subject : {"certificate", "signature", "files", "run log", "ledger", "guarantee",
                                    "configuration", "summary", "contract"})
            CHECK(mentions(seen.checked, subject));
        for (const char* subject : {"data", "noise", "program"}) CHECK(mentions(seen.not_checked, subject));
        CHECK_FALSE(mentions(seen.not_checked, "signer"));
        CHECK(*seen.found.promised.epsilon_guaranteed == Approx(2).epsilon(1e-3));
        CHECK(seen.found.files.size() == 8);

        const auto nobody = eval::verify_run(made.run, std::nullopt);
        CHECK(mentions(nobody.not_checked, "signer"));
        CHECK_FALSE(mentions(nobody.checked, "signature"));

        const auto alone = eval::verify_certificate(made.run.certificate(), made.owner.public_half());
        CHECK(mentions(alone.checked, "arithmetic"));
        CHECK(mentions(alone.not_checked, "files"));
    }
}

TEST_CASE("an unsigned certificate says so, and is refused where a signature is asked for") {
    signed_run made;
    eval::certify_run(made.run, nullptr);
    const auto seen = eval::verify_run(made.run, std::nullopt);
    CHECK(mentions(seen.not_checked, "signature"));
    CHECK(has(read_file(made.run.certificate()), "\"unsigned: detects accidents, not forgery\""));
    CHECK(has(read_file(made.run.certificate_page()), "Unsigned: detects accidents, not forgery"));
    CHECK(has(made.verdict(made.owner.public_half()), "is unsigned"));
}

TEST_CASE("any byte of any public file that changes is noticed") {
    for (const bool with_key : {true, false}) {
        signed_run made;
        if (!with_key) eval::certify_run(made.run, nullptr);
        REQUIRE(made.verdict().empty());
        std::mt19937 random(7);
        int flips = 0;
        for (const auto& entry : fs::recursive_directory_iterator(made.run.public_side())) {
            if (!entry.is_regular_file()) continue;
            const auto path = entry.path();
            const auto original = read_file(path);
            const auto every = std::max<std::size_t>(1, original.size() / 150);
            for (std::size_t at = random() % every; at < original.size(); at += 1 + random() % every) {
                auto changed = original;
                changed[at] = static_cast<char>(changed[at] ^ (1 << random() % 8));
                put(path, changed);
                CAPTURE(path.string(), at);
                CHECK_FALSE(made.verdict().empty());
                ++flips;
            }
            put(path, original.substr(0, original.size() - 1));
            CHECK_FALSE(made.verdict().empty());
            put(path, original + "\n");
            CHECK_FALSE(made.verdict().empty());
            put(path, original);
        }
        CHECK(flips > 1000);
        CHECK(made.verdict().empty());
    }
}

TEST_CASE("files that are missing, added or another run's are named") {
    signed_run made, other({"privacy.epsilon=1"});
    write_file(made.run.adapter() / "adapter_more.bin", "x");
    CHECK(has(made.verdict(), "public/adapter/adapter_more.bin is not in it"));
    fs::remove(made.run.adapter() / "adapter_more.bin");
    REQUIRE(made.verdict().empty());

    write_file(made.run.adapter() / "adapter_model.safetensors", std::string(64, 'b'));
    CHECK(has(made.verdict(), "public/adapter/adapter_model.safetensors is another file"));
    fs::remove(made.run.adapter() / "adapter_model.safetensors");
    CHECK(has(made.verdict(), "public/adapter/adapter_model.safetensors is missing"));
    write_file(made.run.adapter() / "adapter_model.safetensors", std::string(64, '\x7f'));

    const auto own = read_file(made.run.certificate());
    write_file(made.run.certificate(), read_file(other.run.certificate()));
    CHECK(has(made.verdict(), "another run"));
    CHECK(has(made.verdict(), "public/"));
    write_file(made.run.certificate(), own);

    write_ledger(made.run.ledger(), small_config(), {}, 3);
    CHECK(has(made.verdict(), "public/ledger.jsonl"));
    fs::remove(made.run.certificate());
    CHECK(has(made.verdict(), "rldp ledger verify"));
    fs::remove(made.run.summary());
    CHECK(has(refusal([&] { eval::certify_run(made.run, nullptr); }), "holds no run that has ended"));
}

TEST_CASE("links under public/ are refused, wherever they lead") {
    const signed_run made;
    const auto file = made.run.adapter() / "adapter_config.json";
    fs::rename(file, made.scratch / "elsewhere.json");
    fs::create_symlink(made.scratch / "elsewhere.json", file);
    CHECK(has(made.verdict(), "adapter_config.json: is a link"));
    fs::remove(file);
    fs::rename(made.scratch / "elsewhere.json", file);
    REQUIRE(made.verdict().empty());
    fs::create_directories(made.scratch / "more");
    write_file(made.scratch / "more/unlisted", "x");
    fs::create_directory_symlink(made.scratch / "more", made.run.public_side() / "more");
    CHECK(has(made.verdict(), "more: is a link"));
}

TEST_CASE("a run log with holes is not certified, and not verified under a certificate that names it") {
    signed_run made;
    const auto whole = eval::read_metrics(made.run.metrics());
    auto holes = whole;
    holes.erase(holes.begin() + 10, holes.begin() + 15);
    eval::write_metrics(made.run.metrics(), holes);
    CHECK(has(made.verdict(), "public/metrics.jsonl is another file"));
    CHECK(has(refusal([&] { eval::certify_run(made.run, nullptr); }), "metrics.jsonl:11: is step 15's"));
    // As a program would have made it that does not look.
    auto named = privacy::parse_certificate(read_file(made.run.certificate()), "certificate");
    named.files["metrics.jsonl"] = privacy::sha256(read_file(made.run.metrics()));
    named.signer.reset();
    named.signature.clear();
    write_file(made.run.certificate(), privacy::to_json(named));
    CHECK(has(made.verdict(), "metrics.jsonl:11: is step 15's, where step 10's is due"));
}

TEST_CASE("what a run log lost while its run was interrupted is said") {
    const signed_run made;
    auto lines = eval::read_metrics(made.run.metrics());
    lines[7] = eval::lost_line(privacy::read_ledger(made.run.ledger()), 7);
    eval::write_metrics(made.run.metrics(), lines);
    eval::certify_run(made.run, nullptr);
    const auto seen = eval::verify_run(made.run, std::nullopt);
    CHECK(mentions(seen.checked, "run log"));
    CHECK(mentions(seen.not_checked, "lost lines"));
}

// Made by that version's own package.
TEST_CASE("what the version before made is read and verified, and what it promised too much is said") {
    const eval::run_directory run{"tests/fixtures/run-0.1.0"};
    const auto owner = privacy::verifying_key::load("tests/fixtures/run-0.1.0/owner.pub");
    const auto seen = eval::verify_run(run, owner);
    CHECK(mentions(seen.checked, "contract"));
    CHECK(mentions(seen.not_checked, "rounding"));
    CHECK(mentions(seen.checked, "run log"));
    CHECK(mentions(seen.not_checked, "run log"));  // its lines name none of the ledger
    CHECK(seen.found.version == 2);
    CHECK(seen.found.promised.rounding_margin == 1e-3);
    CHECK(privacy::to_json(seen.found) == read_file(run.certificate()));
    CHECK(mentions(eval::verify_certificate(run.certificate(), owner).not_checked, "rounding"));
    CHECK_FALSE(mentions(eval::verify_run(signed_run().run, std::nullopt).not_checked, "rounding"));
}

TEST_CASE("the wrong key is refused with both fingerprints") {
    const signed_run made;
    const auto stranger = privacy::signing_key::create(made.scratch / "stranger");
    const auto text = made.verdict(stranger.public_half());
    CHECK(has(text, stranger.public_half().fingerprint()));
    CHECK(has(text, made.owner.public_half().fingerprint()));
}

// The attack that review made: sample rate and ε lowered, every hash recomputed.
TEST_CASE(
    "a ledger that was edited and rehashed is refused by the configuration, and where that was edited too by the "
    "signature") {
    signed_run made;
    const auto lowered = small_config({"train.expected_batch_size=16", "privacy.epsilon=0.5"});
    const auto certificate = read_file(made.run.certificate());

    write_ledger(made.run.ledger(), lowered);
    CHECK(privacy::verify(privacy::read_ledger(made.run.ledger())).epsilon_guaranteed < 0.51);  // whole, taken alone
    fs::remove(made.run.summary());
    CHECK(has(refusal([&] { eval::verify_run_ledger(made.run); }), "privacy.epsilon is 2, but the ledger says 0.5"));
    write_ledger(made.run.ledger(), small_config({"train.expected_batch_size=16"}));
    CHECK(has(refusal([&] { eval::verify_run_ledger(made.run); }),
              "train.expected_batch_size over the population is 0.01"));

    // All three files: now they agree, and only what the owner signed contradicts them.
    write_run(made.run.root, lowered);
    CHECK(refusal([&] { eval::verify_run_ledger(made.run); }).empty());
    CHECK(has(made.verdict(made.owner.public_half()), "public/config.json is another file"));
    eval::certify_run(made.run, nullptr);
    CHECK(has(made.verdict(made.owner.public_half()), "is unsigned"));
    const auto attacker = privacy::signing_key::create(made.scratch / "attacker");
    eval::certify_run(made.run, &attacker);
    CHECK(has(made.verdict(made.owner.public_half()), "is signed by key"));
    // The owner's public key and signature under the attacker's text.
    auto forged = privacy::parse_certificate(read_file(made.run.certificate()), "c");
    const auto honest = privacy::parse_certificate(certificate, "c");
    forged.signer = honest.signer;
    forged.signature = honest.signature;
    write_file(made.run.certificate(), privacy::to_json(forged));
    CHECK(has(made.verdict(), "its signature is not that of key"));
}

TEST_CASE("a configuration that is not the ledger's is refused by key") {
    const scratch_directory scratch;
    const auto run = write_run(scratch / "run", small_config());
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"privacy.epsilon=2.5", "privacy.epsilon"},
        {"privacy.delta=2e-5", "privacy.delta"},
        {"privacy.accountant=rdp", "privacy.accountant"},
        {"privacy.unit={\"group\": \"patient\"}", "privacy.unit"},
        {"privacy.population=6401", "privacy.population"},
        {"eval.publish=none", "eval.publish"},
        {"eval.looks=2", "looks at held-out units"},
        {"train.expected_batch_size=65", "train.expected_batch_size"},
        {"train.steps=41", "the number of steps"},
        {"noise.policy=fixed", "noise.policy"},
        {"noise.insecure_reproducible=true", "noise.insecure_reproducible"},
        {"noise.deck.ratio=1.5", "deck"},
        {"noise.deck.levels=2", "deck"},
        {"rl.interval=5", "deck"}};
    for (const auto& [set, named] : cases) {
        write_file(run.config(), config::to_json(small_config({set})));
        CAPTURE(set);
        CHECK(has(refusal([&] { eval::verify_run_ledger(run); }), named));
        CHECK(has(refusal([&] { eval::certify_run(run, nullptr); }), named));
    }
    write_file(
        run.config(),
        config::to_json(small_config({"privacy.semantics=as_published", "privacy.acknowledge_no_guarantee=true"})));
    CHECK(has(refusal([&] { eval::verify_run_ledger(run); }), "privacy.semantics"));
    CHECK_FALSE(fs::exists(run.certificate()));
}

TEST_CASE("a summary that is not the ledger's is refused by key") {
    const scratch_directory scratch;
    const auto run = write_run(scratch / "run", small_config());
    const auto honest = make_summary(privacy::read_ledger(run.ledger()));
    const auto refused = [&](auto edit) {
        auto changed = honest;
        edit(changed);
        write_file(run.summary(), eval::to_json(changed));
        return refusal([&] { eval::verify_run_ledger(run); });
    };
    CHECK(refused([](auto&) {}).empty());
    CHECK(has(refused([](auto& s) { s.epsilon_guaranteed = 1; }), "guaranteed_epsilon is 1"));
    CHECK(has(refused([](auto& s) { s.epsilon_budget = 1; }), "epsilon_budget"));
    CHECK(has(refused([](auto& s) { s.delta = 1e-6; }), "delta"));
    CHECK(has(refused([](auto& s) { s.sample_rate /= 2; }), "sample_rate"));
    CHECK(has(refused([](auto& s) { s.units *= 2; }), "units"));
    CHECK(has(refused([](auto& s) { s.steps_planned = 39; }), "steps_planned"));
    CHECK(has(refused([](auto& s) { s.policy = "fixed"; }), "policy"));
    CHECK(has(refused([](auto& s) { s.unit = "patient"; }), "unit"));
    CHECK(has(refused([](auto& s) { s.split = "exact"; }), "split"));
    CHECK(has(refused([](auto& s) { s.held_out = publication::raw; }), "held_out"));
    CHECK(has(refused([](auto& s) { s.looks_noise_multiplier /= 2; }), "looks: noise_multiplier"));
    CHECK(has(refused([](auto& s) { s.insecure_reproducible = true; }), "insecure_reproducible"));
    CHECK(has(refused([](auto& s) { s.semantics = semantics::as_published; }), "semantics"));
    CHECK(has(refused([](auto& s) { s.deck.pop_back(); }), "deck"));
    CHECK(has(refused([](auto& s) { s.deck[0].first *= 1.1; }), "deck"));
    CHECK(has(refused([](auto& s) { s.epsilon_spent["pld"] *= 0.9; }), "epsilon.pld"));
    // Its end was cut off: the chain is whole, but the run says that it reached the end.
    write_ledger(run.ledger(), small_config(), {}, 5);
    CHECK(has(refused([](auto&) {}), "the last step"));
    CHECK(refused([](auto& s) { s.how = eval::ending::interrupted; }).empty());
}

TEST_CASE("a run without a guarantee gets a certificate that can't be mistaken for one") {
    for (const auto& set : std::vector<std::vector<std::string>>{
             {"noise.insecure_reproducible=true"},
             {"privacy.semantics=as_published", "privacy.acknowledge_no_guarantee=true"}}) {
        const signed_run made(set);
        const auto text = read_file(made.run.certificate());
        CHECK(has(text, "\"guarantee\":\"NO GUARANTEE\""));
        CHECK(has(text, "\"epsilon\":null"));
        CHECK(has(text, "\"epsilon_budget\":null"));
        const auto seen = eval::verify_run(made.run, made.owner.public_half());
        CHECK_FALSE(seen.found.promised.holds());
        CHECK_FALSE(mentions(seen.checked, "guarantee"));
        CHECK_FALSE(mentions(eval::verify_certificate(made.run.certificate(), std::nullopt).checked, "arithmetic"));
        const auto page = read_file(made.run.certificate_page());
        CHECK(has(page, "NO GUARANTEE"));
        CHECK_FALSE(has(page, "ε ="));
    }
}

TEST_CASE("a certificate alone is priced again") {
    const signed_run made;
    const auto honest = privacy::parse_certificate(read_file(made.run.certificate()), "c");
    const auto file = made.scratch / "certificate.json";
    const auto refused = [&](auto edit) {
        auto forged = honest;
        edit(forged.promised);
        privacy::sign(forged, made.owner);  // even the owner's hand makes no arithmetic true
        write_file(file, privacy::to_json(forged));
        return refusal([&] { eval::verify_certificate(file, made.owner.public_half()); });
    };
    CHECK(refused([](auto&) {}).empty());
    CHECK(has(refused([](auto& c) { c.epsilon_guaranteed = 1; }), "promises ε 1"));
    CHECK(has(refused([](auto& c) { c.delta = 1e-7; }), "promises"));
    CHECK(has(refused([](auto& c) { c.steps = 31; }), "clearly less"));
    CHECK(has(refused([](auto& c) { c.sample_rate = 0.001; }), "which is not sample_rate"));
    CHECK(has(refused([](auto& c) {
                  c.sample_rate = 0.02;
                  c.expected_batch_size = 128;
              }),
              "promises"));
    CHECK(has(refused([](auto& c) { c.deck.clear(); }), "clearly less"));
    CHECK(has(refused([](auto& c) { c.policy = "dice"; }), "dice"));
    CHECK(has(refused([](auto& c) { c.accountant = "gdp_clt"; }), "gdp_clt"));
    CHECK(has(refused([](auto& c) { c.padding_delta = 1e-7; }), "pad_batches"));
}
