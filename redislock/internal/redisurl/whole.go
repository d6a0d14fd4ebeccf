package redisurl

// minNodes is how many servers a Redlock set has at least: with fewer, the loss of
// any one ends it.
const minNodes = 3

// checkWhole checks the rules about several parts.
func (r *reading) checkWhole() error {
	u := r.url
	for _, rule := range []struct {
		broken     bool
		part, text string
	}{
		{u.Mode == Sentinel && u.Master == "", "master", r.masterRule()},
		{u.Mode == Redlock && len(u.Addrs) < minNodes, "hosts", "a Redlock set has 3 servers at least"},
		{
			u.Mode == Redlock && len(u.Addrs)%2 == 0, "hosts",
			"a Redlock set has an odd number of servers: an even one can lose no more of them than one less",
		},
		{u.Mode == Cluster && u.DB != 0, "database", "a cluster has database 0 only"},
		// Some programs take USER@ for a password; as a user it would be shown.
		{
			r.bareUser && u.PasswordFile == "", "user",
			"write USER:PASSWORD@, :PASSWORD@ without a user, or USER:@ without a password",
		},
		{u.Password != "" && u.PasswordFile != "", "option password_file", "not together with a password"},
		{
			u.SentinelPassword != "" && u.SentinelPasswordFile != "",
			"option sentinel_password_file", "not together with sentinel_password",
		},
		{(u.Cert == "") != (u.Key == ""), "options cert and key", "want both or neither"},
	} {
		if rule.broken {
			return refuse(rule.part, rule.text)
		}
	}
	return nil
}

// masterRule says where this scheme has the name of the master.
func (r *reading) masterRule() string {
	if r.scheme.byOption {
		return "missing: want the option sentinelMasterId, or redis+sentinel://HOSTS/MASTER"
	}
	return "missing: want redis+sentinel://HOSTS/MASTER"
}
