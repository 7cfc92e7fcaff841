// SPDX-License-Identifier: Apache-2.0

// What function.cpp does, with AWS's runtime for Go.
package main

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"github.com/aws/aws-lambda-go/lambda"
)

const clockMonotonic = 1

var began = now()

func now() int64 {
	var at syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}

// AWS's runtime never ends by itself: ends it when it asks for a second invocation.
type once struct {
	http.RoundTripper
	asked bool
}

func (of *once) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, "/next") {
		if of.asked {
			os.Exit(0)
		}
		of.asked = true
	}
	return of.RoundTripper.RoundTrip(request)
}

func main() {
	if os.Getenv("ONCE") != "" {
		http.DefaultTransport = &once{RoundTripper: http.DefaultTransport}
	}
	lambda.Start(func() (int64, error) { return began, nil })
}
