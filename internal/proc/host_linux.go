package proc

// HoldIfAsked turns this process into a holder if a Pool started it as one, and
// then does not return. main and TestMain must call it before anything else.
func HoldIfAsked() {}

func newHost(c Config) (host, error) { return groupHost{}, nil }
