// The main of every test program. Beside Catch's own options:
//   --cases                     prints every case: file, tags, name, separated by tabs
//   RLDP_TEST_LOG=FILE          appends a line for each case that ended: seconds, outcome, program, file, name, why it
//   was skipped
#define CATCH_CONFIG_RUNNER
#include "tests/catch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

namespace {

std::string program;

std::string find_stem(const char* file) {
    const std::string path = file;
    const auto begin = path.rfind('/') + 1;
    return path.substr(begin, path.rfind('.') - begin);
}

class case_log : public catch_listener {
  public:
    using catch_listener::catch_listener;

    void testCaseStarting(const Catch::TestCaseInfo& info) override {
        catch_listener::testCaseStarting(info);
        timer_.start();
        skipped_.clear();
    }

    catch_assertion_result assertionEnded(const Catch::AssertionStats& stats) override {
        constexpr std::string_view mark = "skipped: ";
        for (const auto& message : stats.infoMessages) {
            if (message.type == Catch::ResultWas::Warning && message.message.rfind(mark, 0) == 0)
                skipped_ = message.message.substr(mark.size());
        }
        return catch_listener::assertionEnded(stats);
    }

    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        catch_listener::testCaseEnded(stats);
        const char* file = std::getenv("RLDP_TEST_LOG");
        if (file == nullptr || *file == '\0') return;
        const auto& info = find_info(stats);
        const bool failed = stats.totals.assertions.failed > 0 || stats.totals.testCases.failed > 0;
        std::string line = std::to_string(timer_.getElapsedSeconds());
        for (const auto& field : {std::string(failed             ? "failed"
                                              : skipped_.empty() ? "passed"
                                                                 : "skipped"),
                                  program, find_stem(info.lineInfo.file), info.name, skipped_}) {
            line += '\t' + field;
        }
        for (auto& character : line) {
            if (character == '\n') character = ' ';
        }
        line += '\n';
        // One write of a file that is appended to: lines of programs that run beside each other stay whole.
        const int log = ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (log < 0 || ::write(log, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
            std::cerr << file << ": a test's outcome can't be written\n";
            std::_Exit(1);
        }
        ::close(log);
    }

  private:
    Catch::Timer timer_;
    std::string skipped_;
};

CATCH_REGISTER_LISTENER(case_log)

/// No test writes in the budget books of whoever runs it.
class books_of_its_own {
  public:
    books_of_its_own() {
        auto name = (std::filesystem::temp_directory_path() / "rldp-books-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) std::_Exit(1);
        path_ = name;
        ::setenv("RLDP_BOOKS", name.c_str(), 1);
    }
    ~books_of_its_own() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    books_of_its_own(const books_of_its_own&) = delete;
    books_of_its_own& operator=(const books_of_its_own&) = delete;

  private:
    std::filesystem::path path_;
};

}  // namespace

int main(int count, char** arguments) {
    program = arguments[0];
    program.erase(0, program.rfind('/') + 1);
    if (count == 2 && std::string_view(arguments[1]) == "--cases") {
        for (const auto& one : all_cases()) {
            const auto& info = find_info(one);
            std::cout << find_stem(info.lineInfo.file) << '\t' << info.tagsAsString() << '\t' << info.name << '\n';
        }
        return 0;
    }
    const books_of_its_own books;
    return Catch::Session().run(count, arguments);
}
