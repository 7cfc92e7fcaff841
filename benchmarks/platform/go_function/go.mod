module cppless.dev/benchmarks/platform

go 1.21

require github.com/aws/aws-lambda-go v1.47.0
