#!/bin/sh
# What Visual Studio Code starts for each debugging session.
exec pmixhost debug --dap
