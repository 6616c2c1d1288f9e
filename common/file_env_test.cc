// The contract of FileEnv, on the real file system and on the simulated one.

#include "common/file_env.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/fault_file_env.h"
#include "common/posix_file_env.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

enum class Kind { kPosix, kFault };

class FileEnvTest : public testing::TestWithParam<Kind> {
 protected:
  FileEnvTest() {
    if (GetParam() == Kind::kPosix) {
      env_ = std::make_unique<PosixFileEnv>();
    } else {
      env_ = std::make_unique<FaultFileEnv>();
    }
    const testing::TestInfo* info =
        testing::UnitTest::GetInstance()->current_test_info();
    root_ = absl::StrCat(testing::TempDir(), "/file_env/",
                         absl::string_view(info->name()));
    EXPECT_TRUE(RemoveTree(*env_, root_).ok());
    EXPECT_TRUE(env_->CreateDirs(root_).ok());
  }
  ~FileEnvTest() override { EXPECT_TRUE(RemoveTree(*env_, root_).ok()); }

  std::string Path(absl::string_view name) const {
    return JoinPath(root_, name);
  }

  void Write(absl::string_view name, absl::string_view bytes) {
    auto file = env_->OpenForWrite(Path(name));
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE((*file)->Append(bytes).ok());
    ASSERT_TRUE((*file)->Close().ok());
  }

  std::string Read(absl::string_view name) {
    const auto bytes = ReadFile(*env_, Path(name), 1000);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return bytes.value_or("");
  }

  std::unique_ptr<FileEnv> env_;
  std::string root_;
};

TEST_P(FileEnvTest, MissingFileIsNotFoundAndNamed) {
  const auto file = env_->OpenForRead(Path("absent"));
  EXPECT_EQ(file.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(file.status().message(),
            absl::StrCat("cannot open \"", Path("absent"),
                         "\": No such file or directory; check the path"));
  EXPECT_TRUE(absl::IsNotFound(env_->Map(Path("absent")).status()));
  EXPECT_TRUE(absl::IsNotFound(env_->List(Path("absent")).status()));
  EXPECT_TRUE(absl::IsNotFound(env_->RemoveFile(Path("absent"))));
  EXPECT_TRUE(absl::IsNotFound(env_->SyncDir(Path("absent"))));
  EXPECT_TRUE(absl::IsNotFound(env_->Truncate(Path("absent"), 0)));
  EXPECT_TRUE(absl::IsNotFound(env_->Rename(Path("absent"), Path("b"))));
  EXPECT_TRUE(absl::IsNotFound(env_->OpenForWrite(Path("no/f")).status()));
}

TEST_P(FileEnvTest, FolderIsNoFileAndFileIsNoFolder) {
  ASSERT_TRUE(env_->CreateDirs(Path("dir")).ok());
  Write("file", "x");
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(env_->OpenForRead(Path("dir")).status().code(), code);
  EXPECT_EQ(env_->OpenForWrite(Path("dir")).status().code(), code);
  EXPECT_EQ(env_->List(Path("file")).status().code(), code);
  EXPECT_EQ(env_->CreateDirs(Path("file")).code(), code);
  EXPECT_EQ(env_->CreateDirs(Path("file/below")).code(), code);
}

TEST_P(FileEnvTest, ANewFileIsOnlyOnesOwn) {
  EXPECT_TRUE(env_->OpenNew(Path("f")).ok());
  Write("f", "x");
  EXPECT_TRUE(absl::IsAlreadyExists(env_->OpenNew(Path("f")).status()));
  EXPECT_EQ(*ReadFile(*env_, Path("f"), 10), "x");
  ASSERT_TRUE(env_->CreateDirs(Path("dir")).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(env_->OpenNew(Path("dir")).status()));
}

TEST_P(FileEnvTest, ReadPastTheEndIsDataLoss) {
  Write("f", "12345");
  const auto file = env_->OpenForRead(Path("f"));
  ASSERT_TRUE(file.ok());
  std::string out(3, '\0');
  EXPECT_TRUE((*file)->ReadAt(2, absl::MakeSpan(out)).ok());
  EXPECT_EQ(out, "345");
  const absl::Status status = (*file)->ReadAt(3, absl::MakeSpan(out));
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_TRUE(absl::StrContains(status.message(), "is truncated"));
  EXPECT_TRUE((*file)->ReadAt(5, absl::Span<char>()).ok());
}

TEST_P(FileEnvTest, FileLongerThanTheLimitIsNotRead) {
  Write("f", "12345");
  EXPECT_EQ(*ReadFile(*env_, Path("f"), 5), "12345");
  EXPECT_TRUE(
      absl::IsResourceExhausted(ReadFile(*env_, Path("f"), 4).status()));
}

TEST_P(FileEnvTest, WriteReplacesAndAppendContinues) {
  Write("f", "a longer text");
  Write("f", "short");
  auto file = env_->OpenForAppend(Path("f"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append("er").ok());
  EXPECT_EQ(Read("f"), "shorter");  // Seen before Close.
  ASSERT_TRUE((*file)->Sync().ok());
  ASSERT_TRUE((*file)->Close().ok());
  ASSERT_TRUE(env_->Truncate(Path("f"), 2).ok());
  EXPECT_EQ(Read("f"), "sh");
  EXPECT_EQ((*env_->Map(Path("f")))->bytes(), "sh");
  Write("f", "");
  EXPECT_EQ((*env_->Map(Path("f")))->bytes(), "");
}

// They are about the memory of the system alone.
TEST_P(FileEnvTest, HintsChangeNothingOfWhatIsRead) {
  auto file = env_->OpenForWrite(Path("f"));
  ASSERT_TRUE(file.ok());
  (*file)->StartWriting();
  (*file)->ForgetWritten();
  ASSERT_TRUE((*file)->Append("on the disk").ok());
  (*file)->StartWriting();
  ASSERT_TRUE((*file)->Sync().ok());
  ASSERT_TRUE((*file)->Append(", and not yet").ok());
  (*file)->ForgetWritten();
  EXPECT_EQ(Read("f"), "on the disk, and not yet");
  ASSERT_TRUE((*file)->Close().ok());
  (*file)->StartWriting();  // Nor is it an error when there is no file.
  (*file)->ForgetWritten();
  EXPECT_EQ(Read("f"), "on the disk, and not yet");
}

TEST_P(FileEnvTest, ListIsSortedAndTellsFolders) {
  Write("b", "");
  Write("a", "");
  ASSERT_TRUE(env_->CreateDirs(Path("aa/deep/er")).ok());
  ASSERT_TRUE(env_->CreateDirs(Path("aa/deep")).ok());
  const auto entries = env_->List(root_);
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].name, "a");
  EXPECT_EQ((*entries)[1].name, "aa");
  EXPECT_TRUE((*entries)[1].is_directory);
  EXPECT_FALSE((*entries)[2].is_directory);
}

TEST_P(FileEnvTest, RenameReplacesFilesAndMovesFolders) {
  Write("f", "new");
  Write("g", "old");
  ASSERT_TRUE(RenameDurably(*env_, Path("f"), Path("g")).ok());
  EXPECT_EQ(Read("g"), "new");
  EXPECT_FALSE(*env_->Exists(Path("f")));
  ASSERT_TRUE(env_->CreateDirs(Path("dir")).ok());
  Write("dir/x", "1");
  ASSERT_TRUE(env_->Rename(Path("dir"), Path("moved")).ok());
  EXPECT_EQ(Read("moved/x"), "1");
  ASSERT_TRUE(env_->CreateDirs(Path("dir")).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(env_->Rename(Path("dir"), Path("moved"))));
}

TEST_P(FileEnvTest, RemoveTreeTakesAllAndForgivesAbsence) {
  ASSERT_TRUE(env_->CreateDirs(Path("t/a/b")).ok());
  Write("t/a/f", "x");
  EXPECT_TRUE(absl::IsAlreadyExists(env_->RemoveDir(Path("t"))));
  EXPECT_TRUE(RemoveTree(*env_, Path("t")).ok());
  EXPECT_FALSE(*env_->Exists(Path("t")));
  EXPECT_TRUE(RemoveTree(*env_, Path("t")).ok());
}

INSTANTIATE_TEST_SUITE_P(Envs, FileEnvTest,
                         testing::Values(Kind::kPosix, Kind::kFault),
                         [](const testing::TestParamInfo<Kind>& info) {
                           return info.param == Kind::kPosix ? "Posix"
                                                             : "Fault";
                         });

TEST(FileErrorTest, CodeTellsWhatToDo) {
  const absl::Status full = FileError("write", "/x", ENOSPC);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(full.message(),
            "cannot write \"/x\": No space left on device; free some space or "
            "choose another disk");
  EXPECT_TRUE(absl::IsPermissionDenied(FileError("open", "/x", EACCES)));
  EXPECT_TRUE(absl::IsPermissionDenied(FileError("open", "/x", EROFS)));
  EXPECT_TRUE(absl::IsResourceExhausted(FileError("open", "/x", EMFILE)));
  EXPECT_TRUE(absl::IsDataLoss(FileError("sync", "/x", EIO)));
  EXPECT_TRUE(absl::IsInvalidArgument(FileError("open", "/x", ENAMETOOLONG)));
  EXPECT_TRUE(absl::IsUnknown(FileError("sync", "/x", EDOM)));
}

// A pipe would block for ever, a device may never end.
TEST(PosixFileEnvTest, OnlyRegularFilesAreOpened) {
  PosixFileEnv env;
  const std::string pipe = JoinPath(testing::TempDir(), "pipe");
  ::unlink(pipe.c_str());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  struct Case {
    std::string path;
    absl::string_view kind;
  };
  for (const Case& c :
       {Case{pipe, "it is a pipe"}, Case{"/dev/null", "it is a device"}}) {
    for (const absl::Status& status :
         {env.OpenForRead(c.path).status(), env.Map(c.path).status()}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_TRUE(absl::StrContains(status.message(), c.path)) << status;
      EXPECT_TRUE(absl::StrContains(status.message(), c.kind)) << status;
    }
    EXPECT_TRUE(absl::IsInvalidArgument(env.OpenForWrite(c.path).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(env.OpenForAppend(c.path).status()));
  }
}

TEST(PathTest, JoinsAndSplits) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("a", "/b"), "/b");
  EXPECT_EQ(JoinPath("a", ""), "a");
  EXPECT_EQ(DirName("a/b/c"), "a/b");
  EXPECT_EQ(DirName("c"), ".");
  EXPECT_EQ(DirName("/c"), "/");
  EXPECT_EQ(BaseName("a/b/c"), "c");
  EXPECT_EQ(BaseName("c"), "c");
}

}  // namespace
}  // namespace selari
