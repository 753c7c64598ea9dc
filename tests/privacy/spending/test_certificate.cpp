#include "privacy/spending/certificate.hpp"

#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/files.hpp"
#include "privacy/keys/digest.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::privacy;

namespace {

namespace fs = std::filesystem;

certificate example() {
    certificate out;
    auto& c = out.promised;
    c.epsilon_guaranteed = 1.9999;
    c.epsilon_budget = 2;
    c.delta = 1e-5;
    c.expected_batch_size = 64;
    c.population = 6400;
    c.sample_rate = 0.01;
    c.steps = 40;
    c.unit = "patient";
    c.max_records_per_unit = 16;
    c.policy = "deck";
    c.accountant = "pld";
    c.split = "hash";
    c.deck = {{0.75, 20}, {1.0 / 3, 20}};
    out.risk = {{{0.001, 0.02}, {0.01, 0.07}, {0.1, 0.3}}, 0.25, 0.61, 0.004};
    out.data = "patients.csv";
    out.in_book = true;
    out.program = "1.2.3";
    out.ledger_head = std::string(64, 'a');
    out.files = {{"adapter/adapter_model.safetensors", std::string(64, 'b')}, {"ledger.jsonl", std::string(64, 'c')}};
    return out;
}

std::string refused(const std::string& text) {
    return refusal([&] { parse_certificate(text, "certificate.json"); });
}

/// `edit` applied to the JSON, written in canonical form again but with the old hash and signature.
template <class Edit>
std::string edited(const certificate& made, Edit edit) {
    auto all = nlohmann::json::parse(to_json(made));
    edit(all);
    return all.dump() + "\n";
}

}  // namespace

TEST_CASE("SHA-256 of nothing and of abc are those of FIPS 180") {
    CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("a certificate reads back to the byte, signed or not, with a guarantee or without") {
    const scratch_directory dir;
    const auto key = signing_key::create(dir / "owner");
    auto made = example();
    for (int with = 0; with < 4; ++with) {
        if (with == 1) sign(made, key);
        if (with == 2) {
            made.promised.epsilon_guaranteed = made.promised.epsilon_budget = std::nullopt;
            made.promised.voids = {"draws follow from a seed"};
            made.risk.reset();
            sign(made, key);
        }
        if (with == 3) made.signer = std::nullopt, made.signature.clear();
        const auto text = to_json(made);
        CHECK(text.find('\n') == text.size() - 1);
        CHECK(to_json(parse_certificate(text, "c")) == text);
        CHECK(first_difference(parse_certificate(text, "c"), made).empty());
    }
}

TEST_CASE("the signature is Ed25519 over the text with no signature, as any other program can check") {
    const scratch_directory dir;
    const auto key = signing_key::create(dir / "owner");
    auto made = example();
    sign(made, key);
    auto all = nlohmann::json::parse(to_json(made));
    const auto signature = all.at("signature").get<std::string>();
    all["signature"] = nullptr;
    CHECK(verifying_key::load(dir / "owner.pub").accepts(all.dump(), signature));
    CHECK_FALSE(verifying_key::load(dir / "owner.pub").accepts(all.dump() + " ", signature));
}

TEST_CASE("Ed25519 is that of RFC 8032, test 1") {
    const scratch_directory dir;
    rldp::write_file(dir / "rfc",
                     "rldp-ed25519-secret 9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n", 0600);
    const auto key = signing_key::load(dir / "rfc");
    CHECK(key.public_half().hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    CHECK(key.sign("") ==
          "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595b"
          "be2"
          "4655141438e7a100b");
}

TEST_CASE("every field of a certificate that is edited is noticed, signed or not") {
    const scratch_directory dir;
    const auto key = signing_key::create(dir / "owner");
    auto made = example();
    for (const bool with_key : {false, true}) {
        if (with_key) sign(made, key);
        const auto flat = nlohmann::json::parse(to_json(made)).flatten();
        for (const auto& [pointer, value] : flat.items()) {
            const nlohmann::json::json_pointer where(pointer);
            CAPTURE(pointer);
            CHECK_FALSE(refused(edited(made, [&](auto& all) {
                            auto& field = all[where];
                            if (field.is_number())
                                field = field.template get<double>() * 2 + 1;
                            else if (field.is_string())
                                field = field.template get<std::string>() + "0";
                            else if (field.is_boolean())
                                field = !field.template get<bool>();
                            else
                                field = "0";
                        })).empty());
            CHECK_FALSE(refused(edited(made, [&](auto& all) { all[where] = nlohmann::json::array({1}); })).empty());
        }
        CHECK_FALSE(refused(edited(made, [](auto& all) { all["more"] = 1; })).empty());
        CHECK_FALSE(refused(edited(made, [](auto& all) { all.erase("files"); })).empty());
        CHECK_FALSE(refused(edited(made, [](auto& all) { all.erase("contract"); })).empty());
        CHECK_FALSE(refused(" " + to_json(made)).empty());
    }
}

TEST_CASE("an edit that mends the hash fails at the signature") {
    const scratch_directory dir;
    const auto key = signing_key::create(dir / "owner");
    auto made = example();
    sign(made, key);
    made.promised.epsilon_guaranteed = 0.5;
    CHECK(has(refused(to_json(made)), "its signature is not that of key " + key.public_half().fingerprint()));
    sign(made, key);
    made.signature[5] = made.signature[5] == '0' ? '1' : '0';
    CHECK(has(refused(to_json(made)), "its signature is not that of key"));
    made.signature = "zz";
    CHECK(has(refused(to_json(made)), "its signature is not that of key"));
    made.signature.clear();
    CHECK(has(refused(to_json(made)), "together, or neither"));
}

TEST_CASE("whatever a file holds instead of a certificate, the answer is one line") {
    const auto whole = to_json(example());
    for (const std::string text :
         {"", "\n", "{}", "[]", "null", "1e999", "{\"contract\":1}", "{\"contract\":{}}",
          "{\"contract\":{},\"version\":3}", "{\"contract\":{},\"version\":1e300}", "\xff\xfe"})
        CHECK(has(refused(text), "certificate.json: "));
    CHECK(has(refused(std::string(100000, '[')), "not a certificate"));
    CHECK(has(refused(edited(example(), [](auto& all) { all["contract"]["steps"] = 1e300; })), "no whole number"));
    CHECK(has(refused(edited(example(), [](auto& all) { all["version"] = 8; })), "version 8"));
    std::mt19937 random(3);
    for (int i = 0; i < 2000; ++i) {
        auto text = whole;
        for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
            const auto at = random() % text.size();
            if (random() % 3 == 0)
                text.erase(at, random() % 9);
            else
                text[at] = static_cast<char>(random());
        }
        if (text == whole || text.empty()) continue;
        const auto line = refused(text);
        CHECK_FALSE(line.empty());
        CHECK(line.find('\n') == std::string::npos);
    }
    for (std::size_t length = 0; length < whole.size(); length += 7)
        CHECK_FALSE(refused(whole.substr(0, length)).empty());
}

TEST_CASE("a contract whose parts contradict each other is refused though its hash is right") {
    const auto contradicts = [](auto edit) {
        auto made = example();
        edit(made.promised);
        return refused(to_json(made));
    };
    CHECK(contradicts([](auto&) {}).empty());
    auto silent = example();
    silent.risk.reset();
    CHECK(has(refused(to_json(silent)), "attack_risk"));
    CHECK(has(contradicts([](auto& c) { c.voids = {"as_published"}; }), "ε stands beside"));
    CHECK(has(contradicts([](auto& c) { c.epsilon_guaranteed.reset(); }), "missing"));
    CHECK(has(contradicts([](auto& c) { c.epsilon_budget.reset(); }), "missing"));
    CHECK(has(contradicts([](auto& c) { c.population = 0; }), "population"));
    CHECK(has(contradicts([](auto& c) { c.sample_rate = 0.02; }), "sample_rate"));
    CHECK(has(contradicts([](auto& c) { c.delta = 2; }), "delta"));
    CHECK(has(contradicts([](auto& c) { c.padding_delta = 1e-7; }), "pad_batches"));
    CHECK(has(contradicts([](auto& c) { c.max_records_per_unit = 0; }), "max_records_per_unit"));
    CHECK(has(contradicts([](auto& c) { c.deck[0].noise_multiplier = -1; }), "noise multiplier"));
}

TEST_CASE("what a certificate says of attackers follows from its own numbers, under every policy") {
    auto made = example();
    const auto follows = [&](auto edit) {
        auto claimed = made.risk.value();
        edit(claimed);
        return refusal([&] { check_risk(claimed, made.promised); });
    };
    for (const std::string policy : {"deck", "fixed", "filter"}) {
        CAPTURE(policy);
        made.promised.policy = policy;
        made.promised.deck = policy == "deck" ? example().promised.deck : std::vector<card>{};
        made.promised.looks = {2, 3.5};
        made.promised.held_out = rldp::publication::noised;
        auto header = ledger_header{};
        header.delta = made.promised.delta;
        header.sample_rate = made.promised.sample_rate;
        header.steps = made.promised.steps;
        header.policy = policy;
        header.accountant = "pld";
        header.deck = made.promised.deck;
        header.epsilon_budget = *made.promised.epsilon_budget;
        header.epsilon_guaranteed = *made.promised.epsilon_guaranteed;
        header.looks = made.promised.looks;
        made.risk = state_risk(find_trade_off(header));
        CHECK(made.risk->best[1].true_positive_rate < 0.1);
        CHECK(follows([](auto&) {}).empty());
        CHECK(has(follows([](auto& r) { r.best[0].true_positive_rate *= 0.9; }), "do not rely on it"));
        CHECK(has(follows([](auto& r) { r.best[2].true_positive_rate += 0.1; }), "clearly less"));
        CHECK(has(follows([](auto& r) { r.advantage *= 0.9; }), "the advantage"));
        CHECK(has(follows([](auto& r) { r.mu *= 0.9; }), "μ"));
        CHECK(has(follows([](auto& r) { r.best.pop_back(); }), "rates"));
        // Few loud looks are what an attacker goes by then.
        const auto with_quiet_looks = made.risk->best[1].true_positive_rate;
        header.looks = {2, 1};
        const auto loud = state_risk(find_trade_off(header));
        CHECK(loud.best[1].true_positive_rate > with_quiet_looks);
        CHECK(loud.mu >= std::sqrt(2.0));
    }
}

TEST_CASE("a key pair is written once, the secret for its owner alone, and read back") {
    const scratch_directory dir;
    const auto made = signing_key::create(dir / "owner");
    struct stat found {};
    REQUIRE(::stat((dir / "owner").c_str(), &found) == 0);
    CHECK((found.st_mode & 0777u) == 0600u);
    CHECK(signing_key::load(dir / "owner").public_half() == made.public_half());
    CHECK(verifying_key::load(dir / "owner.pub") == made.public_half());
    CHECK(made.public_half().fingerprint().size() == 39);
    CHECK_FALSE(signing_key::create(dir / "second").public_half() == made.public_half());

    const auto before = rldp::read_file(dir / "owner");
    CHECK(has(refusal([&] { signing_key::create(dir / "owner"); }), "exists already"));
    fs::remove(dir / "owner");
    CHECK(has(refusal([&] { signing_key::create(dir / "owner"); }), "owner.pub: exists already"));
    CHECK_FALSE(fs::exists(dir / "owner"));
    CHECK(has(refusal([&] { signing_key::create(dir / "none" / "owner"); }), "no such directory"));
}

TEST_CASE("a signing key that others can read, or that is none, is refused") {
    const scratch_directory dir;
    signing_key::create(dir / "owner");
    for (const unsigned mode : {0640u, 0604u, 0644u, 0620u, 0610u, 0660u}) {
        fs::permissions(dir / "owner", static_cast<fs::perms>(mode));
        CAPTURE(mode);
        CHECK(has(refusal([&] { signing_key::load(dir / "owner"); }), "others can read"));
    }
    fs::permissions(dir / "owner", static_cast<fs::perms>(0400));
    CHECK(refusal([&] { signing_key::load(dir / "owner"); }).empty());
    fs::permissions(dir / "owner.pub", static_cast<fs::perms>(0600));
    CHECK(has(refusal([&] { signing_key::load(dir / "owner.pub"); }), "is a public key"));
    CHECK(has(refusal([&] { verifying_key::load(dir / "owner"); }), "is a secret key"));
    CHECK(has(refusal([&] { signing_key::load(dir / "none"); }), "no such file"));
    CHECK(has(refusal([&] { verifying_key::load(dir / "none"); }), "no such file"));
    const auto text = rldp::read_file(dir / "owner");
    for (const auto& bad : {std::string(), text.substr(0, 60), text + "x", std::string(200, 'a'), "x" + text.substr(1),
                            text.substr(0, 20) + std::string(64, 'g') + "\n", text.substr(0, 84) + "f"}) {
        rldp::write_file(dir / "bad", bad, 0600);
        CAPTURE(bad);
        CHECK(has(refusal([&] { signing_key::load(dir / "bad"); }), "is no signing key"));
    }
    fs::create_directory(dir / "folder");
    CHECK_FALSE(refusal([&] { signing_key::load(dir / "folder"); }).empty());
}

TEST_CASE("a signing key inside a run directory is neither made nor used, by whatever name it goes") {
    const scratch_directory dir;
    fs::create_directories(dir / "run/public/adapter");
    fs::create_directories(dir / "run/trusted");
    fs::create_directories(dir / "copy");
    rldp::write_file(dir / "run/public/ledger.jsonl", "");
    rldp::write_file(dir / "copy/ledger.jsonl", "");
    signing_key::create(dir / "owner");
    const std::string why = "lies in the run directory";
    for (const char* place : {"run/key", "run/trusted/key", "run/public/key", "run/public/adapter/key", "copy/key",
                              "run/public/../trusted/key"}) {
        CAPTURE(place);
        CHECK(has(refusal([&] { signing_key::create(dir / place); }), why));
        CHECK_FALSE(fs::exists(dir / place));
        fs::copy_file(dir / "owner", dir / place);
        CHECK(has(refusal([&] { signing_key::load(dir / place); }), why));
        fs::remove(dir / "link");
        fs::create_symlink(dir / place, dir / "link");
        CHECK(has(refusal([&] { signing_key::load(dir / "link"); }), why));
        fs::remove(dir / place);
    }
}
