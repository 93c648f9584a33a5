package proc_test

import "github.com/piton-dev/piton/internal/proc"

var levels = []proc.Level{proc.Namespace, proc.Subreaper, proc.Group}
