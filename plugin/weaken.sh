#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weaken.sh OBJCOPY OBJECT...   Makes every global symbol of the object files weak, in place.
set -e
objcopy=$1
shift
for object in "$@"; do
  "$objcopy" --weaken "$object"
done
