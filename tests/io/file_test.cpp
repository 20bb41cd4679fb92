// Files are read whole or refused at once, and an output appears whole or not at all.
#include "framework/io/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "framework/base/error.h"
#include "framework/base/interruption.h"
#include "framework/base/text.h"
#include "framework/io/byte_source.h"
#include "tests/io/crafted_files.h"
#include "tests/support/expect_error.h"

namespace lenslet::test {
namespace {

std::string text_of(const std::string& path) {
  const Bytes bytes = read_file(path, 1 << 20);
  return std::string(bytes.begin(), bytes.end());
}

// Replaces standard input or output for a while.
class Redirect {
 public:
  Redirect(int descriptor, int replacement) : descriptor_(descriptor), saved_(::dup(descriptor)) {
    ::dup2(replacement, descriptor_);
    ::close(replacement);
  }
  ~Redirect() {
    ::dup2(saved_, descriptor_);
    ::close(saved_);
  }
  Redirect(const Redirect&) = delete;
  Redirect& operator=(const Redirect&) = delete;

 private:
  int descriptor_, saved_;
};

TEST(ReadFile, ReadsWholeFilesUpToTheLimit) {
  const TemporaryFolder folder;
  const Bytes bytes(100000, 7);
  const std::string path = folder.write("a", bytes);
  EXPECT_EQ(read_file(path, bytes.size()), bytes);
  expect_error<DataError>([&] { read_file(path, bytes.size() - 1); }, "at most 99999 bytes");
  EXPECT_TRUE(read_file(folder.write("empty", {}), 10).empty());
}

TEST(ReadFile, ReadsFilesThatStateNoSize) { EXPECT_GT(read_file("/proc/self/status", 1 << 20).size(), 100u); }

// A reader that waits for the FIFO never ends.
TEST(ReadFile, RefusesWhatIsNoFileAtOnce) {
  const TemporaryFolder folder;
  const std::string fifo = folder / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(::symlink("loop", (folder / "loop").c_str()), 0);
  expect_error<DataError>([&] { read_file(fifo, 10); }, "found a FIFO");
  expect_error<DataError>([&] { read_file(folder.path(), 10); }, "found a directory");
  expect_error<DataError>([&] { read_file("/dev/zero", 10); }, "found a device");
  expect_error<DataError>([&] { read_file("", 10); }, "expected the name of a file, found an empty text");
  expect_error<DataError>([&] { read_file(folder / "none", 10); }, "none: cannot be opened: No such file");
  expect_error<DataError>([&] { read_file(folder / "loop", 10); }, "cannot be opened: Too many levels");
  expect_error<DataError>([&] { read_file(folder / std::string(5000, 'n'), 10); }, "File name too long");
}

TEST(ReadFile, ReadsStandardInputFromAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "hello", 5), 5);
  ::close(ends[1]);
  const Redirect input(STDIN_FILENO, ends[0]);
  EXPECT_EQ(text_of("-"), "hello");
}

// This pipe delivers nothing: a read would block forever.
TEST(ReadFile, AnInterruptionBeforeTheFirstReadEndsIt) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Redirect input(STDIN_FILENO, ends[0]);
  stop_when([] { return true; });
  EXPECT_THROW(read_file("-", 10), InterruptedError);
  stop_when(nullptr);
  ::close(ends[1]);
}

TEST(FileBytes, ReadsPartsOfAFile) {
  const TemporaryFolder folder;
  const FileBytes file(folder.write("f", bytes_of("abcdefgh")));
  EXPECT_EQ(file.size(), 8u);
  std::string part(3, '-');
  file.read(4, part.data(), part.size());
  EXPECT_EQ(part, "efg");
  file.read(8, part.data(), 0);
  expect_error<DataError>([&] { file.read(6, part.data(), 3); }, "became shorter while it was read");
}

// A mapped file would end the process with SIGBUS here.
TEST(FileBytes, NoticesThatTheFileWasCut) {
  const TemporaryFolder folder;
  const std::string path = folder.write("f", Bytes(10000, 7));
  const FileBytes file(path);
  std::filesystem::resize_file(path, 100);
  Bytes part(5000);
  expect_error<DataError>([&] { file.read(2000, part.data(), part.size()); }, "f: it became shorter");
}

TEST(FileBytes, RefusesWhatIsNoFile) {
  expect_error<DataError>([] { FileBytes{"/dev/zero"}; },
                          "/dev/zero: expected a regular file, found a device");
  expect_error<DataError>([] { FileBytes{"/no/such/file"}; }, "cannot be opened");
}

TEST(FileBytes, AnInterruptionEndsIt) {
  const TemporaryFolder folder;
  const FileBytes file(folder.write("f", bytes_of("abcd")));
  char byte = 0;
  stop_when([] { return true; });
  EXPECT_THROW(file.read(0, &byte, 1), InterruptedError);
  stop_when(nullptr);
}

TEST(MemoryBytes, HasNoMoreThanItsBytes) {
  const MemoryBytes bytes(bytes_of("abcd"));
  char last = 0;
  bytes.read(3, &last, 1);
  EXPECT_EQ(last, 'd');
  EXPECT_THROW(bytes.read(3, &last, 2), DataError);
  EXPECT_THROW(bytes.read(5, &last, 0), DataError);
}

TEST(ReadFile, RefusesATerminalOnStandardInput) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "no pseudo-terminal can be opened here";
  const Redirect input(STDIN_FILENO, terminal);
  expect_error<DataError>([] { read_file("-", 10); }, "found a terminal");
}

TEST(PrintableExcerpt, IsOneLineOfText) {
  EXPECT_EQ(printable_excerpt("plain name.png"), "plain name.png");
  EXPECT_EQ(printable_excerpt("zwölf/数字.png"), "zwölf/数字.png");
  EXPECT_EQ(printable_excerpt("a\nb\x1b[31m"), "a\\nb\\x1b[31m");
  EXPECT_EQ(printable_excerpt("\xff\xfe\xc3"), "\\xff\\xfe\\xc3");
  EXPECT_EQ(printable_excerpt("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80");  // overlong, surrogate
  EXPECT_LT(printable_excerpt(std::string(5000, 'x')).size(), 400u);
}

TEST(FolderOf, EndsWithTheSlash) {
  EXPECT_EQ(folder_of("a/b/c"), "a/b/");
  EXPECT_EQ(folder_of("/c"), "/");
  EXPECT_EQ(folder_of("a/"), "a/");
  EXPECT_EQ(folder_of("c"), "");
}

TEST(RealPath, FollowsLinksOfFilesThatExist) {
  const TemporaryFolder folder;
  const std::string file = std::filesystem::canonical(folder.write("file", bytes_of("text"))).string();
  std::filesystem::create_symlink("file", folder / "link");
  EXPECT_EQ(real_path(folder / "link"), file);
  EXPECT_EQ(real_path(folder / "link", "otherwise"), file);
  EXPECT_EQ(real_path(folder / "none", "otherwise"), "otherwise");
  EXPECT_EQ(real_path(folder / "none"), "");
}

TEST(FirstLine, IsEmptyWithoutAFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(first_line(folder.write("lines", bytes_of("first\nsecond\n"))), "first");
  EXPECT_EQ(first_line(folder.write("line", bytes_of("no end"))), "no end");
  EXPECT_EQ(first_line(folder / "none"), "");
}

TEST(OutputFile, AppearsWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const std::string path = folder / "report.json";
  {
    OutputFile file(path);
    file.write("first");
    EXPECT_FALSE(std::filesystem::exists(path));
    file.commit();
  }
  EXPECT_EQ(text_of(path), "first");
  {
    OutputFile file(path);
    file.write(std::string(200000, 'x'));
  }
  EXPECT_EQ(text_of(path), "first");
  EXPECT_EQ(folder.names().size(), 1u) << "a temporary file was left behind";
  {
    OutputFile file(path);
    file.write("second");
    file.commit();
  }
  EXPECT_EQ(text_of(path), "second");
}

TEST(OutputFile, HasTheUsualRightsAndKeepsThoseOfTheFileItReplaces) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& path) {
    OutputFile file(path);
    file.write("x");
    file.commit();
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
  };
  const mode_t mask = ::umask(027);
  EXPECT_EQ(write(folder / "new"), 0640u);
  ::umask(mask);
  const std::string old = folder.write("old", {});
  ASSERT_EQ(::chmod(old.c_str(), 0604), 0);
  EXPECT_EQ(write(old), 0604u);
}

TEST(OutputFile, KeepsASymbolicLink) {
  const TemporaryFolder folder;
  folder.write("target", {});
  ASSERT_EQ(::symlink("target", (folder / "link").c_str()), 0);
  OutputFile file(folder / "link");
  file.write("x");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(text_of(folder / "target"), "x");
}

TEST(OutputFile, ReportsWhatCannotBeWritten) {
  const TemporaryFolder folder;
  expect_error<OutputError>([&] { OutputFile(folder / "none/report"); },
                            "none/report: cannot be written: No such file or directory; found no folder ");
  expect_error<OutputError>([&] { OutputFile file(folder.path()); }, "Is a directory; expected a file");
  expect_error<OutputError>(
      [&] {
        OutputFile file("/dev/full");
        file.write("x");
        file.commit();
      },
      "/dev/full: cannot be written: No space left on device; free some space");
}

TEST(OutputFile, RefusesAReadOnlyFolder) {
  const TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  // The superuser may write anywhere, so the test tries as another user.
  const bool root = ::geteuid() == 0;
  constexpr uid_t kNobody = 65534;
  if (root && ::seteuid(kNobody) != 0)
    GTEST_SKIP() << "running as root, and it cannot be given up for a while";
  expect_error<OutputError>([&] { OutputFile(folder / "report"); },
                            "cannot be written: Permission denied; give a file in a folder");
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
}

TEST(OutputFile, RefusesAFolderOfTheKernels) {
  expect_error<OutputError>([] { OutputFile("/proc/report.json"); },
                            "/proc/report.json: cannot be written: ");
}

TEST(OutputFile, WritesStandardOutput) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  {
    const Redirect output(STDOUT_FILENO, ends[1]);
    OutputFile file("-");
    file.write("text");
    file.commit();
  }
  char text[8] = {};
  EXPECT_EQ(::read(ends[0], text, sizeof text), 4);
  EXPECT_STREQ(text, "text");
  ::close(ends[0]);
}

TEST(OutputFile, ReportsFullStandardOutput) {
  const Redirect output(STDOUT_FILENO, ::open("/dev/full", O_WRONLY));
  OutputFile file("-");
  const auto write = [&] {
    file.write("text");
    file.commit();
  };
  expect_error<OutputError>(write, "standard output: cannot be written: No space left");
}

}  // namespace
}  // namespace lenslet::test
