#include "common/printable.h"

#include <string>

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(PrintableTest, TextForPeopleStays) {
  for (const char* text : {"", "a b", "C:\\x", "\"quoted\"", "Größe …", "數據",
                           "\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(PrintableTest, WhatSteersATerminalIsEscaped) {
  EXPECT_EQ(Printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(Printable("a\nb\rc\td\x7f"), "a\\nb\\rc\\td\\x7f");
  EXPECT_EQ(Printable(std::string(2, '\0')), "\\x00\\x00");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");
}

TEST(PrintableTest, WhatIsNoUtf8IsEscaped) {
  EXPECT_EQ(Printable("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(Printable("\xc0\x80"), "\\xc0\\x80");           // overlong
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(Printable("\xe2\x80"), "\\xe2\\x80");  // cut off
}

TEST(IsUtf8Test, TellsWhatAMessageCanCarry) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("Größe\x1b\n"));
  EXPECT_FALSE(IsUtf8("caf\xe9"));
  EXPECT_FALSE(IsUtf8("\xe2\x80"));
}

TEST(PrintableTest, TwiceIsOnce) {
  std::string all;
  for (int c = 0; c < 256; ++c) {
    all += static_cast<char>(c);
  }
  EXPECT_EQ(Printable(Printable(all)), Printable(all));
}

TEST(ExcerptTest, ALongTextIsCutBetweenCharacters) {
  EXPECT_EQ(Excerpt("12345", 5), "12345");
  EXPECT_EQ(Excerpt("123456", 5), "12345… (6 bytes)");
  EXPECT_EQ(Excerpt("1234ö6", 5), "1234… (7 bytes)");
  EXPECT_EQ(Excerpt(std::string(9, '\x80'), 2), "\\x80\\x80… (9 bytes)");
}

}  // namespace
}  // namespace selari
