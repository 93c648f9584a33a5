// Package telemetry tells programs that watch others how runs go: as metrics that are asked for,
// and as traces and metrics that are sent to a collector of OpenTelemetry.
//
// All of it is read from the journal behind the run: it holds no run up, and fails none.
package telemetry
