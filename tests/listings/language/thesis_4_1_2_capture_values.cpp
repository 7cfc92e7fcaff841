// SPDX-License-Identifier: Apache-2.0
// RUN: output
// RUN: output -O2 -g
// OUT: 51
// OUT: 50
// Thesis 4.1.2, the lambda whose closure type is spelled out there. As printed, with its #include
// added.
#include <iostream>

int main(int argc, char* argv[])
{
  int a = 5;
  double b = 4;
  auto x = [=](int q) {
    return a + b + q;
  };
  std::cout << x(42) << std::endl;

  x.capture < 0 > () = 4;
  std::cout << x(42) << std::endl;
}
