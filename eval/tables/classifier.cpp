#include "eval/tables/classifier.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/error.hpp"

extern char** environ;

namespace rldp::embedded {
extern const std::string_view classifier_script;
}

namespace rldp::eval {

namespace {

using json = nlohmann::json;

constexpr std::size_t most_rows = 20'000, most_classes = 20, most_words = 50;

// A file in memory: nothing of the rows is written to a disk, and no pipe fills up.
class memory_file {
  public:
    memory_file() : descriptor_(::memfd_create("rldp-rows", MFD_CLOEXEC)) {
        if (descriptor_ < 0) throw error(errc::failed, "no memory for the rows that a classifier is to see");
    }
    ~memory_file() { ::close(descriptor_); }
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;
    int descriptor() const { return descriptor_; }

    void fill(std::string_view bytes) const {
        while (!bytes.empty()) {
            const auto written = ::write(descriptor_, bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) throw error(errc::failed, "no memory for the rows that a classifier is to see");
            bytes.remove_prefix(static_cast<std::size_t>(written));
        }
    }
    void rewind() const { ::lseek(descriptor_, 0, SEEK_SET); }
    std::string content() const {
        std::string out;
        std::string part(1 << 20, '\0');
        rewind();
        for (ssize_t got = 0; (got = ::read(descriptor_, part.data(), part.size())) > 0;)
            out.append(part, 0, static_cast<std::size_t>(got));
        return out;
    }

  private:
    int descriptor_;
};

constexpr int lacks_library = 3, shell_found_none = 127;  ///< the script's own status, and that of a wrapper

struct script_answer {
    int status = -1;  ///< of the process; −1 where there was none
    std::string out;

    bool is_there() const { return status != -1 && status != lacks_library && status != shell_found_none; }
};

/// Isolated (-I): no module beside the caller, no setting of the environment's.
script_answer run_with(const std::string& python, const memory_file& in) {
    const memory_file out;
    in.rewind();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::string name = python, isolated = "-I", command = "-c", script(embedded::classifier_script);
    char* arguments[] = {name.data(), isolated.data(), command.data(), script.data(), nullptr};
    pid_t child = 0;
    const bool started = posix_spawnp(&child, python.c_str(), &actions, nullptr, arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    if (!started) return {};
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return {};
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1, out.content()};
}

/// By the Python that is found first, or the system's, which has the distribution's libraries.
script_answer run_script(const std::string& input) {
    const memory_file in;
    in.fill(input);
    script_answer out;
    for (const auto* python : {"python3", "/usr/bin/python3"}) {
        out = run_with(python, in);
        if (out.is_there()) break;
    }
    return out;
}

/// What a row's class is, if it has one.
struct class_rule {
    std::size_t column = 0;
    std::vector<std::string> names;
    std::vector<double> values;  ///< of each class; none where the median decides
    double median = 0;

    std::optional<std::size_t> find(double value) const {
        if (std::isnan(value)) return std::nullopt;
        if (values.empty()) return value > median ? 1 : 0;
        const auto at = std::find(values.begin(), values.end(), value);
        if (at == values.end()) return std::nullopt;
        return static_cast<std::size_t>(at - values.begin());
    }
};

class_rule choose_classes(const judged_tables& tables) {
    class_rule out{.column = *tables.target, .names = {}, .values = {}, .median = 0};
    const auto& column = tables.columns[out.column];
    std::vector<double> there;
    for (const double value : tables.training.values[out.column])
        if (!std::isnan(value)) there.push_back(value);
    std::sort(there.begin(), there.end());
    auto distinct = there;
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    const bool number = column.kind == value_kind::number;
    if (number && distinct.size() > most_classes) {
        out.median = there[there.size() / 2];
        out.names = {fmt::format("up to {:.6g}", out.median), fmt::format("above {:.6g}", out.median)};
        return out;
    }
    const auto often = [&](double value) {
        const auto [low, high] = std::equal_range(there.begin(), there.end(), value);
        return high - low;
    };
    std::stable_sort(distinct.begin(), distinct.end(), [&](double a, double b) { return often(a) > often(b); });
    distinct.resize(std::min(distinct.size(), most_classes));
    out.values = distinct;
    for (const double value : distinct)
        out.names.push_back(number ? fmt::format("{:g}", value) : column.words[static_cast<std::size_t>(value)]);
    return out;
}

/// A column as the script wants it: of categories the commonest have numbers of their own.
class feature {
  public:
    feature(const judged_tables& tables, std::size_t column)
        : column_(column),
          category_(tables.columns[column].kind == value_kind::category),
          bins_(tables.columns[column], tables.training.values[column], most_words) {}
    bool category() const { return category_; }
    std::size_t column() const { return column_; }
    json value(double from) const {
        if (category_) return bins_.find(from);
        return std::isnan(from) ? json(nullptr) : json(from);
    }

  private:
    std::size_t column_;
    bool category_;
    value_bins bins_;
};

std::size_t count_usable(const value_table& from, const class_rule& rule) {
    const auto& target = from[rule.column];
    return static_cast<std::size_t>(
        std::count_if(target.begin(), target.end(), [&](double value) { return rule.find(value).has_value(); }));
}

struct part {
    json task;
    std::vector<std::size_t> classes;
};

part make_part(const value_table& from, const std::vector<feature>& features, const class_rule& rule,
               std::size_t most) {
    part out;
    std::vector<json> columns(features.size(), json::array());
    const auto& target = from[rule.column];
    for (std::size_t row = 0; row < target.size() && out.classes.size() < most; ++row) {
        const auto is = rule.find(target[row]);
        if (!is) continue;
        out.classes.push_back(*is);
        for (std::size_t f = 0; f < features.size(); ++f)
            columns[f].push_back(features[f].value(from[features[f].column()][row]));
    }
    out.task = {{"columns", std::move(columns)}, {"classes", out.classes}};
    return out;
}

/// `scores`: by class, of each row.
classifier_quality::score judge_scores(const std::vector<std::vector<double>>& scores,
                                       const std::vector<std::size_t>& classes) {
    classifier_quality::score out;
    double areas = 0, right = 0;
    std::size_t judged = 0;
    for (std::size_t c = 0; c < scores.size(); ++c) {
        std::vector<double> in, others;
        for (std::size_t i = 0; i < classes.size(); ++i) (classes[i] == c ? in : others).push_back(scores[c][i]);
        const auto area = auc(in, others);
        if (!area) continue;  // held-out rows are all of it, or none is
        areas += *area;
        ++judged;
        if (scores.size() == 2 && c == 1) out.interval = measure_auc(in, others);
    }
    for (std::size_t i = 0; i < classes.size(); ++i) {
        std::size_t best = 0;
        for (std::size_t c = 1; c < scores.size(); ++c)
            if (scores[c][i] > scores[best][i]) best = c;
        right += best == classes[i] ? 1 : 0;
    }
    out.auc = areas / static_cast<double>(judged);
    out.accuracy = right / static_cast<double>(classes.size());
    return out;
}

}  // namespace

std::optional<target_quality> judge_target(const judged_tables& tables, std::vector<std::string>& left_out) {
    if (!tables.target) {
        left_out.emplace_back("classifier: the template names no \"target\"; name the column that one is to tell");
        return std::nullopt;
    }
    const auto rule = choose_classes(tables);
    std::vector<feature> features;
    for (std::size_t c = 0; c < tables.columns.size(); ++c)
        if (c != rule.column && tables.columns[c].kind != value_kind::text) features.emplace_back(tables, c);
    const auto rows =
        std::min({most_rows, count_usable(tables.made_up, rule), count_usable(tables.training.values, rule)});
    const auto made_up = make_part(tables.made_up, features, rule, rows);
    const auto real = make_part(tables.training.values, features, rule, rows);
    const auto held_out = make_part(tables.held_out.values, features, rule, most_rows);
    const auto differ = [](const std::vector<std::size_t>& of) {
        return std::any_of(of.begin(), of.end(), [&](auto one) { return one != of.front(); });
    };
    const auto& name = tables.columns[rule.column].name;
    if (features.empty() || rows == 0 || !differ(real.classes) || !differ(held_out.classes)) {
        left_out.push_back(fmt::format(
            "classifier: {} has no two values among the rows, or there is no other column to tell it by", name));
        return std::nullopt;
    }
    json kinds = json::array();
    for (const auto& one : features) kinds.push_back(one.category());
    const auto answered = run_script(json{
        {"categories", kinds},
        {"classes", rule.names.size()},
        {"made_up", made_up.task},
        {"real", real.task},
        {"held_out", held_out.task}}.dump());
    const auto read = json::parse(answered.out, nullptr, false);
    if (answered.status != 0 || !read.is_array()) {
        left_out.push_back(!answered.is_there()
                               ? "classifier: scikit-learn is not installed; install Debian's python3-sklearn, and "
                                 "rldp judge the table again"
                               : "classifier: scikit-learn could not be fitted to these rows");
        return std::nullopt;
    }
    target_quality out{.name = name,
                       .classes = rule.names,
                       .rows = rows,
                       .held_out = held_out.classes.size(),
                       .commonest = 0,
                       .classifiers = {}};
    std::vector<double> counts(rule.names.size(), 0);
    for (const auto one : held_out.classes) ++counts[one];
    out.commonest = *std::max_element(counts.begin(), counts.end()) / static_cast<double>(out.held_out);
    for (const auto& one : read) {
        const auto score = judge_scores(one.at("scores"), held_out.classes);
        const auto called = one.at("name").get<std::string>();
        if (out.classifiers.empty() || out.classifiers.back().name != called)
            out.classifiers.push_back({.name = called, .made_up = {}, .real = {}});
        (one.at("part") == "real" ? out.classifiers.back().real : out.classifiers.back().made_up) = score;
    }
    return out;
}

}  // namespace rldp::eval
