package proc

import "time"

// SetLull sets how long an order waits for a holder to come free, before the first child.
func (p *Pool) SetLull(d time.Duration) { p.host.(*holders).lull = d }

// SetPatience sets the patience with holders that have started, before the first child.
func (p *Pool) SetPatience(d time.Duration) { p.host.(*holders).patience = d }

// Holders are the processes of the holders that wait for work.
func (p *Pool) Holders() (pids []int) {
	for _, h := range p.host.(*holders).idle {
		pids = append(pids, h.process.Pid)
	}
	return pids
}
