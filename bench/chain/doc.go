// Package chain measures whole runs of the program against make running the
// same processes, and how runs grow.
//
//	go test -tags bench ./bench/chain -bench . -benchtime 3x -timeout 60m
package chain
